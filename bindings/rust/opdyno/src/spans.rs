//! A layer that records spans of the crate `tracing` as ranges.
use crate::{RangeName, ffi, is_recording, mark};
use core::cell::RefCell;
use tracing::span::Id;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Records each span as a range, from enter to exit, and each event as a mark. All running recordings get them.
/// ```
/// # fn main() -> opdyno::Result<()> {
/// use tracing_subscriber::layer::SubscriberExt;
/// let subscriber = tracing_subscriber::registry().with(opdyno::SpanLayer);
/// tracing::subscriber::with_default(subscriber, || {
///     let profiler = opdyno::Profiler::new()?;
///     profiler.start()?;
///     tracing::info_span!("prepare").in_scope(|| ());
///     let trace = profiler.stop()?.expect("it was recording");
///     let report = trace.to_report(opdyno::TraceView::Events)?;
///     assert_eq!(report.get::<String>(opdyno::ReportSection::Calls, 0, "Name")?.as_deref(), Some("prepare"));
///     Ok(())
/// })
/// # }
/// ```
/// While no profiler records, entering a span costs one load.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpanLayer;

thread_local! {
    /// The recorded spans that this thread has entered, with the numbers of their ranges.
    static ENTERED: RefCell<Vec<(Id, u64)>> = const { RefCell::new(Vec::new()) };
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanLayer {
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if !is_recording() {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let known = span.extensions().get::<RangeName>().copied();
        let name = known.unwrap_or_else(|| {
            let name = RangeName::new(span.name());
            span.extensions_mut().replace(name);
            name
        });
        let range = unsafe { ffi::opd_range_begin(name.0) };
        if ENTERED.try_with(|entered| entered.borrow_mut().push((id.clone(), range))).is_err() {
            unsafe { ffi::opd_range_end(range) } // the thread is ending, so no later code could end the range
        }
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        let found = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            // Spans of a thread usually end in reverse order, so the search begins at the end.
            entered.iter().rposition(|each| each.0 == *id).map(|place| entered.remove(place).1)
        });
        if let Ok(Some(range)) = found {
            unsafe { ffi::opd_range_end(range) }
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        mark(event.metadata().name());
    }
}
