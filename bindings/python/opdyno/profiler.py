"""Profiles of the whole process, with the calls of all VMs on all threads, and ranges of the program, on one time line.

    from opdyno.profiler import profile, record_function, schedule

    with profile() as p:
        with record_function("preprocess"):
            x = prepare(data)
        vm["main"](x)
    print(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    p.export_chrome_trace("trace.json.gz")  # for Perfetto, chrome://tracing, TensorBoard

Names, arguments and results are those of `torch.profiler`; docs/tracing.md lists what is different.
"""

from __future__ import annotations

import enum
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from . import _itt as itt
from . import _native
from ._device import Device
from ._dumps import Dumps
from ._report import Trace
from ._time import nanoseconds
from ._trace_forms import Forms, LoadedTrace, MergedTrace, diff, load, merge


class Profiler(_native.Handle):
    __slots__ = ()


_native.register_class("Profiler", Profiler)


class ProfilerAction(enum.Enum):
    """The action of a profiler in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class ProfilerActivity(enum.Enum):
    """The activities that can be recorded. `PrivateUse1` stands for Vulkan, and for kinds of devices of plug-ins."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5
    OPENCL = 6


def supported_activities() -> set[ProfilerActivity]:
    """Returns the activities that `profile` records by default. For devices, these are kernels and copies. An activity
    does not mean that such a device exists."""
    return {ProfilerActivity.CPU, ProfilerActivity.CUDA, ProfilerActivity.OPENCL, ProfilerActivity.PrivateUse1}


def kineto_available() -> bool:
    """Returns True, because traces can always be recorded. Torch's scripts check this before they use a profiler."""
    return True


def _expect(condition: Any, message: str) -> None:
    if not condition:  # no assert statement, because -O would remove it
        raise AssertionError(message)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Returns a function for `profile(schedule=…)`, which returns the action of a step from its number.

    The first `skip_first` steps are left out. Then `repeat` cycles follow (0: no limit). A cycle has `wait` steps that
    are left out, `warmup` steps, and `active` steps that are recorded. With `skip_first_wait`, the first cycle does not
    wait. AssertionError for negative numbers, or if there is no active step.
    """
    _expect(
        wait >= 0 and warmup >= 0 and active > 0 and repeat >= 0 and skip_first >= 0,
        f"a schedule needs numbers that are not negative and at least one active step, but has wait={wait}, warmup={warmup}, "
        f"active={active}, repeat={repeat}, skip_first={skip_first}",
    )
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        _expect(step >= 0, f"the number of a step is not negative, but {step}")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat > 0 and step // cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """Returns a function for `profile(on_trace_ready=…)` that writes each trace to a new file in a directory, for
    TensorBoard."""

    def handler(prof: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler


class _KinetoProfile(Forms):
    """Records between `start` and `stop`, and writes the recording in many formats. `profile` adds steps and a
    schedule."""

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        all_calls: bool = False,
        max_events: int = 1 << 20,
        parallel_tasks: bool = True,
        file: str | os.PathLike[str] | None = None,
        ring: bool = False,
        max_bytes: int = 0,
        last_seconds: float = 0.0,
        dumps: Dumps | None = None,
        ring_file: str | os.PathLike[str] | None = None,
        flush_interval_ms: float = 0.0,
        cupti: bool = False,
    ) -> None:
        """`activities`: members of `ProfilerActivity`. Activities that are not supported here are left out, with a
        warning. If only the CPU is given, kernels and copies of devices are not recorded.

        Shapes are always recorded; `record_shapes` and the other flags are noted in files. `profile_memory`: also
        records each block of memory that a device allocates or frees for tensors and kernels, and new contents of
        blocks. `with_stack`: also records the call stack of Python and native functions when a run of a program or a
        range begins. `with_flops`: adds the operations of operators to tables. `all_calls`: also records calls without
        a tensor among their arguments. `max_events`: limit of calls and ranges of each thread; further ones are counted
        (`trace.dropped`). `parallel_tasks`: also records the tasks of parallel loops, on the tracks of their threads.

        `file`: path of a file to which events are written while they are recorded. They then take no memory, and
        survive if the process is killed: see `load`. `max_bytes`: limit of the file's size, or else of memory for
        events of all threads; 0: no limit. `ring`: beyond this limit (64 MiB if `max_bytes` is 0), the oldest events
        are overwritten; without `ring`, the newest events are left out. Both are counted. `ring_file=path` is short for
        `file=path, ring=True`. `flush_interval_ms`: interval at which the file is written to the disk, in case the
        machine loses power; 0: the system decides when. `last_seconds`: age limit of the events in a trace when it is
        made; 0: no limit. `dumps`: see `Dumps`. `cupti`: CUPTI reports the work of CUDA devices, and plug-ins that can
        do so report theirs, including work of other code in the process. If there is neither, or one of them refuses,
        `start` fails.
        """
        self.activities = supported_activities() if activities is None else set(_known_activities(activities))
        if activities is not None:
            _warn_of_absent_devices(self.activities)
        _expect(self.activities, "activities must have at least one member that is supported here, as CPU is")
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules, self.experimental_config = with_flops, with_modules, experimental_config
        self._metadata: dict[str, str] = {}
        if ring_file is not None:
            if file is not None:
                raise ValueError("file and ring_file are both given; ring_file=path is short for file=path, ring=True")
            file, ring = ring_file, True
        self._file = None if file is None else os.path.abspath(os.fspath(file))
        self._file_state: tuple[int, ...] = ()
        self._profiler = _native.opd_profiler_create(
            {
                "all_calls": int(bool(all_calls)),
                "max_events": max_events,
                "profile_memory": int(bool(profile_memory)),
                "with_stack": int(bool(with_stack)),
                "parallel_tasks": int(bool(parallel_tasks)),
                "device_work": 2 if cupti else int(self.activities != {ProfilerActivity.CPU}),
                "buffer": _native.OPD_PROFILER_KEEP_LAST if ring else _native.OPD_PROFILER_KEEP_FIRST,
                "max_bytes": max_bytes,
                "last_ns": nanoseconds("last_seconds", last_seconds),
                "file": self._file,
                "flush_interval_ns": nanoseconds("flush_interval_ms", flush_interval_ms, 1e6),
                "keep_in_file": int(self._file is not None and self._has_no_steps()),
            }
        )
        if dumps is not None:
            if not isinstance(dumps, Dumps):
                raise TypeError(f"dumps must be Dumps, not {type(dumps).__name__}")
            _native.opd_profiler_set_dumps(self._profiler, dumps._options())
        self._trace: Trace | None = None
        self._is_in_file = False

    def start(self) -> None:
        """Starts the recording. `Error` (code FAILED_PRECONDITION) if it was started already."""
        _native.opd_profiler_start(self._profiler)

    def stop(self) -> None:
        """Ends the recording at once. Runs of programs and ranges that have not ended are in the trace, marked as open.
        OSError if the file could not be written, as on a full disk: the trace has what was written before."""
        self._stop()

    def prepare_trace(self) -> None:
        """Does nothing, because opdyno needs no preparation. Torch's `start` consists of this and `start_trace`."""

    def start_trace(self) -> None:
        """Like `start`."""
        self.start()

    def stop_trace(self) -> None:
        """Like `stop`, but does not call `on_trace_ready`."""
        self._stop()

    def _stop(self) -> bool:
        try:
            if self._keep(_native.opd_profiler_stop(self._profiler)):
                return True
        except OSError:  # the recording has ended, and the file has what was written before the error
            self._is_in_file, self._file_state = self._file is not None, self._state_of_file()
            raise
        self._is_in_file = self._file is not None and self._has_no_steps()
        self._file_state = self._state_of_file()
        return self._is_in_file

    def _state_of_file(self) -> tuple[int, ...]:
        try:
            info = os.stat(self._file) if self._file is not None else None
        except OSError:  # reading the file raises with the reason
            info = None
        return () if info is None else (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns)

    def _has_no_steps(self) -> bool:  # avoids reading the file, which is read at the first access of the trace
        return True

    def _keep(self, trace: Trace | None) -> bool:
        if trace is not None:
            self._trace = trace
        return trace is not None

    def snapshot(self) -> LoadedTrace:
        """Returns the events recorded so far. The recording continues. AssertionError if the schedule is not
        recording."""
        trace = _native.opd_profiler_snapshot(self._profiler)
        if trace is None:
            raise AssertionError("the schedule is not recording")
        return LoadedTrace(trace, self.with_flops)

    def dump(self, reason: str = "") -> None:
        """Requests a dump (`Dumps`) without waiting for it. `Error` (code FAILED_PRECONDITION) if nothing is being
        recorded, or if there are no `dumps`."""
        _native.opd_profiler_dump(self._profiler, reason)

    @property
    def num_dumps(self) -> int:
        """The number of dumps written so far."""
        return _native.opd_profiler_dump_count(self._profiler)

    @property
    def trace(self) -> Trace:
        """The last recording that ended. If it is in a file, this reads it."""
        if self._is_in_file:
            if self._state_of_file() != self._file_state:
                raise RuntimeError(f"{self._file} was written again since the recording ended; load() reads what it has now")
            self._trace, self._is_in_file = _native.opd_trace_load(self._file), False
        return super().trace

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Does nothing, because recording costs so little that it need not be switched on and off."""
        _known_activities(activities)


def _known_activities(activities: Iterable[Any]) -> list[ProfilerActivity]:
    """Converts members of torch's enum by their names."""
    found = []
    for activity in activities:
        name = getattr(activity, "name", None)
        if name not in ProfilerActivity.__members__:
            raise ValueError(f"{activity!r} is not an activity; the activities are {', '.join(ProfilerActivity.__members__)}")
        known = ProfilerActivity[str(name)]
        if known in supported_activities():
            found.append(known)
        else:
            warnings.warn(f"the activity {name} is not supported here and is left out", stacklevel=4)
    return found


def _warn_of_absent_devices(activities: set[ProfilerActivity]) -> None:
    for activity in (ProfilerActivity.CUDA, ProfilerActivity.OPENCL):
        if activity in activities and not Device(activity.name.lower(), 0).exist:
            warnings.warn(f"no {activity.name} device can be used here, so the trace has no work of one", stacklevel=4)


class profile(_KinetoProfile):  # noqa: N801  torch.profiler's name
    """A context manager that records the process between `start` and `stop`. It can be started again. Any thread may
    use it.

    With a `schedule`, `step()` ends a step of the program, and the schedule chooses the action of the next step by its
    number. `on_trace_ready(profile)` is called whenever a trace is complete, for example at the end of the `with` block.
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        all_calls: bool = False,
        max_events: int = 1 << 20,
        parallel_tasks: bool = True,
        file: str | os.PathLike[str] | None = None,
        ring: bool = False,
        max_bytes: int = 0,
        last_seconds: float = 0.0,
        dumps: Dumps | None = None,
        ring_file: str | os.PathLike[str] | None = None,
        flush_interval_ms: float = 0.0,
        cupti: bool = False,
    ) -> None:
        if use_cuda is not None:
            warnings.warn("use_cuda is deprecated, use the activities argument instead", DeprecationWarning, stacklevel=2)
            if activities is None:
                activities = {ProfilerActivity.CPU} | ({ProfilerActivity.CUDA} if use_cuda else set())
        self.schedule, self.on_trace_ready, self.acc_events = schedule, on_trace_ready, acc_events
        super().__init__(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            all_calls=all_calls,
            max_events=max_events,
            parallel_tasks=parallel_tasks,
            file=file,
            ring=ring,
            max_bytes=max_bytes,
            last_seconds=last_seconds,
            dumps=dumps,
            ring_file=ring_file,
            flush_interval_ms=flush_interval_ms,
            cupti=cupti,
        )
        if execution_trace_observer is not None:
            warnings.warn("execution_trace_observer has no effect here", stacklevel=2)
        if custom_trace_id_callback is not None:
            self.set_custom_trace_id_callback(custom_trace_id_callback)
        self.step_num = 0
        self.current_action = self._action()

    def _has_no_steps(self) -> bool:
        return self.schedule is None

    def _action(self) -> ProfilerAction:
        if self.schedule is None:
            return ProfilerAction.RECORD
        action = self.schedule(self.step_num)
        if not isinstance(action, ProfilerAction):
            name = getattr(action, "name", None)  # an action of torch
            if name not in ProfilerAction.__members__:
                raise TypeError(
                    f"a schedule must return a ProfilerAction, but returned {action!r} for step {self.step_num}"
                )
            action = ProfilerAction[str(name)]
        return action

    def _set_action(self) -> None:
        if self.schedule is not None:
            quiet = self.current_action not in (ProfilerAction.WARMUP, *_RECORDS)
            _native.opd_profiler_set_action(self._profiler, 0 if quiet else self.current_action.value)

    def start(self) -> None:
        """Starts the recording, or the schedule if there is one. `Error` (code FAILED_PRECONDITION) if it was started
        already."""
        self._set_action()
        super().start()

    def stop(self) -> None:
        """Ends the recording at once. Runs of programs and ranges that have not ended are in the trace, marked as open.
        OSError if the file could not be written, as on a full disk: the trace has what was written before."""
        if self.schedule is not None and self.step_num == 0:
            warnings.warn("the profile has a schedule, but step() was never called, so only its first step ran", stacklevel=2)
        if self._stop() and self.on_trace_ready:
            self.on_trace_ready(self)

    def step(self) -> None:
        """Ends a step of the program and begins the next step."""
        self.step_num += 1
        self.current_action = self._action()
        self._set_action()
        if self._keep(_native.opd_profiler_step(self._profiler)) and self.on_trace_ready:
            self.on_trace_ready(self)

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Sets the function that returns the value of "trace_id" in files."""
        self._trace_id = callback()
        self.add_metadata("trace_id", self._trace_id)

    _trace_id: str | None = None

    def get_trace_id(self) -> str | None:
        """The text that a custom callback returned; None if there is no callback."""
        return self._trace_id

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self.stop()
        except OSError:
            if exception[0] is None:  # else the block's own exception goes on; the log has a warning about the file
                raise


record_function = _native.record_function  # native/record_function.cc

__all__ = [
    "Dumps",
    "ProfilerAction",
    "ProfilerActivity",
    "LoadedTrace",
    "MergedTrace",
    "_KinetoProfile",
    "diff",
    "itt",
    "kineto_available",
    "load",
    "merge",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
