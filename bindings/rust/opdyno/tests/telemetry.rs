//! Tests of telemetry's options and results. tests/capi/telemetry*_test.cc test the counts and the sent data.
use opdyno::{Code, Telemetry, TelemetryFormat, TelemetryKind, TelemetryOptions, TelemetryValue};

#[test]
fn metrics_are_text() {
    let telemetry = Telemetry::start(&TelemetryOptions::new().prometheus_address("127.0.0.1:0")).unwrap();
    assert!(telemetry.address().starts_with("127.0.0.1:"));
    let value = TelemetryValue::new().name("my_jobs").value(2.5).label_names(&["queue"]).label_values(&["a"]);
    telemetry.set_value(&value).unwrap();
    telemetry.set_value(&TelemetryValue::new().name("my_bytes").kind(TelemetryKind::Counter).value(7.0)).unwrap();
    let text = telemetry.to_text(TelemetryFormat::Prometheus).unwrap();
    assert!(text.contains("\nmy_jobs{queue=\"a\"} 2.5\n"), "{text}");
    assert!(text.contains("\nmy_bytes_total 7\n"), "{text}");
    assert!(telemetry.to_text(TelemetryFormat::OpenMetrics).unwrap().ends_with("# EOF\n"));
    telemetry.flush(1).unwrap(); // there is no collector, so nothing is sent
    assert_eq!(telemetry.stats().unwrap().spans_sent_count, 0);
}

#[test]
fn errors_say_what_is_wrong() {
    let error = Telemetry::start(&TelemetryOptions::new().otlp_endpoint("https://collector")).unwrap_err();
    assert_eq!(error.code(), Code::Unsupported);
    assert_eq!(Telemetry::set_parent(Some("nonsense")).unwrap_err().code(), Code::InvalidArgument);
    Telemetry::set_parent(Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")).unwrap();
    Telemetry::set_parent(None).unwrap();
}
