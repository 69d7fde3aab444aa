//! Tests of the features for other crates: Arrow's record batches, arrays of ndarray, rows by serde, spans of tracing.
#![cfg(all(feature = "arrow", feature = "ndarray", feature = "serde", feature = "tracing"))]
use common::expect;
use opdyno::*;

mod common;

#[test]
fn a_report_becomes_record_batches() -> Result<()> {
    use arrow_array::types::{Float64Type, Int64Type};
    use arrow_array::{Array, RecordBatchReader, StringArray, cast::AsArray};
    let mut builder = ReportBuilder::new()?;
    for k in 0..3_u8 {
        builder.add_call()?;
        builder.set("Name", Metric::Text(&format!("op{k}")))?;
        builder.set("Duration (us)", Metric::Duration(f64::from(k) / 2.0))?;
        if k == 1 {
            builder.set("Count", Metric::Count(7))?;
        }
    }
    let report = builder.finish()?;
    let batches = report.record_batches()?;
    drop(report); // the batches keep the memory that they share
    let schema = batches.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["Name", "Duration (us)", "Count"]);
    let batches = batches.collect::<std::result::Result<Vec<_>, _>>().expect("record batches");
    assert_eq!(batches.len(), 1);
    let [texts, durations, counts] = [0, 1, 2].map(|column| batches[0].column(column));
    let texts = texts.as_dictionary::<Int64Type>().downcast_dict::<StringArray>().expect("texts");
    assert_eq!(texts.into_iter().collect::<Vec<_>>(), [Some("op0"), Some("op1"), Some("op2")]);
    assert_eq!(durations.as_primitive::<Float64Type>().values(), &[0.0, 0.5, 1.0]);
    assert_eq!(counts.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [None, Some(7), None]);
    assert_eq!(counts.null_count(), 2);
    Ok(())
}

/// Makes a tensor with strides: the transpose of a row-major matrix with 3 columns.
fn columns(bytes: &[u8], rows: i64) -> Result<Tensor> {
    let managed = Tensor::from_slice(bytes, [bytes.len()])?.to_dlpack()?;
    let (mut shape, mut strides) = ([3, rows], [1, 3]);
    unsafe {
        let tensor = &mut (*managed).dl_tensor;
        (tensor.ndim, tensor.shape, tensor.strides) = (2, shape.as_mut_ptr(), strides.as_mut_ptr());
        tensor.dtype = DType::FLOAT32.into();
        Tensor::from_dlpack(managed)
    }
}

#[test]
fn strided_tensors_are_arrays() -> Result<()> {
    let bytes: Vec<u8> = (0..6_u8).flat_map(|i| f32::from(i).to_le_bytes()).collect();
    let tensor = columns(&bytes, 2)?;
    let expected = ndarray::arr2(&[[0.0_f32, 3.0], [1.0, 4.0], [2.0, 5.0]]).into_dyn();
    assert_eq!(tensor.as_array::<f32>()?, expected);
    assert_eq!(tensor.to_array::<f32>()?, expected);
    expect(tensor.as_array::<f64>(), Code::InvalidArgument, "float32, not float64");
    Ok(())
}

#[test]
fn elements_that_are_not_aligned_are_copied_to_an_array() -> Result<()> {
    let bytes = Tensor::from_slice(&[0_u8, 0, 0, 128, 63, 0, 0, 0, 64, 9], [10])?;
    let create_view = Function::global("runtime.TVMTensorCreateView")?;
    let view: Tensor = create_view.call(args![&bytes, &[2_i64][..], DType::FLOAT32, 1])?;
    expect(view.as_array::<f32>(), Code::InvalidArgument, "multiple of 4 bytes");
    assert_eq!(view.to_array::<f32>()?.as_slice(), Some(&[1.0, 2.0][..]));
    Ok(())
}

#[test]
fn empty_tensors_are_arrays() -> Result<()> {
    let none = Tensor::zeros([2, 0, 3], DType::INT64, Device::CPU)?;
    assert_eq!((none.as_array::<i64>()?.shape(), none.to_array::<i64>()?.len()), (&[2, 0, 3][..], 0));
    assert_eq!(columns(&[], 0)?.as_array::<f32>()?.shape(), [3, 0]);
    Ok(())
}

/// A span may be entered on a thread and exited after the thread's variables are destroyed.
#[test]
fn spans_end_behind_their_thread() -> Result<()> {
    use tracing_subscriber::layer::SubscriberExt;
    struct Ends(Option<tracing::span::EnteredSpan>);
    thread_local! {
        static KEPT: std::cell::RefCell<Ends> = const { std::cell::RefCell::new(Ends(None)) };
    }
    impl Drop for Ends {
        fn drop(&mut self) {
            drop(self.0.take());
        }
    }
    let dispatch = tracing::Dispatch::new(tracing_subscriber::registry().with(SpanLayer));
    let profiler = Profiler::new()?;
    profiler.start()?;
    let thread = std::thread::spawn(move || {
        KEPT.with(|kept| assert!(kept.borrow().0.is_none()));
        tracing::dispatcher::with_default(&dispatch, || {
            tracing::info_span!("in the thread").in_scope(|| tracing::info!("an event"));
            KEPT.set(Ends(Some(tracing::info_span!("beyond").entered())));
        });
    });
    thread.join().expect("a thread");
    let trace = profiler.stop()?.expect("it was recording");
    let names: Vec<Option<String>> = trace.to_report(TraceView::Events)?.column(ReportSection::Calls, "Name")?;
    assert!(names.contains(&Some("in the thread".to_owned())), "{names:?}");
    Ok(())
}

/// A serialized row leaves out metrics without a value. Numbers stay numbers.
#[test]
fn reports_are_serialized_as_their_rows() -> Result<()> {
    let mut builder = ReportBuilder::new()?;
    for (name, duration) in [("größer", 1.5), ("add", 2.0)] {
        builder.add_call()?;
        builder.set("Name", Metric::Text(name))?;
        builder.set("Duration (us)", Metric::Duration(duration))?;
    }
    builder.set("Count", Metric::Count(1 << 60))?;
    builder.set_device("cpu0", "Energy", Metric::Ratio(0.25))?;
    builder.set_configuration("Compiler", Metric::Text("cc"))?;
    let report = builder.finish()?;
    let text = serde_json::to_string(&report).expect("JSON");
    let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["calls"][1]["Count"].as_i64(), Some(1 << 60));
    assert_eq!(value["calls"][0].get("Count"), None);
    assert_eq!(
        (value["calls"][0]["Name"].as_str(), value["calls"][0]["Duration (us)"].as_f64()),
        (Some("größer"), Some(1.5))
    );
    assert_eq!(
        (value["calls"].as_array().map(Vec::len), value["device_metrics"].as_array().map(Vec::len)),
        (Some(2), Some(1))
    );
    assert_eq!(value["device_metrics"][0]["Energy"].as_f64(), Some(0.25));
    assert_eq!(value["configuration"]["Compiler"].as_str(), Some("cc"));
    let object = value.as_object_mut().expect("an object");
    let names: Vec<_> = object.keys().map(String::as_str).collect();
    assert_eq!(names, ["calls", "configuration", "device_metrics"], "no other fields");
    let empty = serde_json::to_value(ReportBuilder::new()?.finish()?).expect("JSON");
    assert_eq!(empty, serde_json::json!({"calls": [], "device_metrics": [], "configuration": {}}));
    Ok(())
}
