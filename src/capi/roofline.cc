// Implements include/opdyno/roofline.h.
#include "measure/roofline.h"

#include "capi/handles.h"

using namespace opd;

opd_error *opd_machine_measure_peak(opd_machine_peak *out_peak) {
  return guard([&] {
    OPD_REQUIRE(out_peak);
    require_sized(*out_peak);
    const MeasuredPeak measured = measure_machine_peak();
    write_sized(
        opd_machine_peak{0, measured.num_threads, measured.peak.gflops, measured.peak.bandwidth_gbps, measured.spread},
        out_peak);
  });
}

opd_error *opd_report_add_roofline(const opd_report *report, double peak_gflops, double peak_bandwidth_gbps,
                                   opd_report **out_report) {
  return guard([&] {
    OPD_REQUIRE(report, out_report);
    const bool unknown = peak_gflops == 0 && peak_bandwidth_gbps == 0;
    require(unknown || (peak_gflops > 0 && peak_bandwidth_gbps > 0),
            "the machine's peaks must both be positive, or both be 0");
    *out_report = wrap<opd_report>(with_roofline(*unwrap<Report>(report), {peak_gflops, peak_bandwidth_gbps}));
  });
}
