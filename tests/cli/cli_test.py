#!/usr/bin/env python3
"""Tests of the opdyno program from outside.

cli_test.py PROGRAM [unittest arguments, as the name of a class]
"""

import os
import shutil
import sys
import unittest

if __name__ == "__main__":
    os.environ["OPDYNO_PROGRAM"] = os.path.abspath(sys.argv.pop(1))  # before the cases are read

    import case
    from ab_cases import *
    from bench_cases import *
    from bench_compare_cases import *
    from bench_form_cases import *
    from bounds_cases import *
    from command_line_cases import *
    from compare_cases import *
    from commands_cases import *
    from control_cases import *
    from device_cases import *
    from diff_cases import *
    from diff_text_cases import *
    from doctor_cases import *
    from file_cases import *
    from input_cases import *
    from inspect_cases import *
    from inspect_text_cases import *
    from language_cases import *
    from machine_cases import *
    from network_cases import *
    from number_cases import *
    from probe_cases import *
    from progress_cases import *
    from replay_cases import *
    from report_cases import *
    from results_cases import *
    from run_cases import *
    from screen_cases import *
    from scripted_cases import *
    from serve_rpc_cases import *
    from serve_sandbox_cases import *
    from serve_tls_cases import *
    from telemetry_cases import *
    from trace_cases import *
    from trace_form_cases import *
    from untrusted_cases import *

    del CliTest, CompareTest, ServerCliTest  # the bases have no tests of their own
    case.make_files()
    try:
        unittest.main(verbosity=2)
    finally:
        shutil.rmtree(case.WORK)
