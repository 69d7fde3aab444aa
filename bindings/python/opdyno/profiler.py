"""Profiles of the whole process: the calls of all VMs on all threads, and ranges of the program, on one time line.

    from opdyno.profiler import profile, record_function, schedule

    with profile() as p:
        with record_function("preprocess"):
            x = prepare(data)
        vm["main"](x)
    print(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    p.export_chrome_trace("trace.json.gz")  # for Perfetto, chrome://tracing, TensorBoard

Names, arguments and results are those of `torch.profiler`; docs/profiling.md lists what is different.
"""

from __future__ import annotations

import enum
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from . import _native
from ._trace_events import EventList, averages_of, events_of
from .profiling import Trace


class Profiler(_native.Handle):
    __slots__ = ()


_native.register_class("Profiler", Profiler)


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class ProfilerActivity(enum.Enum):
    """What can be recorded. So far this library runs programs on the CPU only."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5
    OPENCL = 6


def supported_activities() -> set[ProfilerActivity]:
    """What `profile` records by default."""
    return {ProfilerActivity.CPU}


def _expect(condition: Any, message: str) -> None:
    if not condition:  # an assert statement would vanish under -O
        raise AssertionError(message)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A function that gives the action of a step by its number, for `profile(schedule=…)`.

    The first `skip_first` steps are left out; then cycles follow of `wait` steps that are left out, `warmup` ones and `active` ones
    that are recorded, `repeat` of them; 0: without end. With `skip_first_wait`, the first cycle does not wait. AssertionError for
    negative numbers and for no active step.
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
    """A function for `profile(on_trace_ready=…)` that writes each trace to a new file of a directory, as TensorBoard wants it."""

    def handler(prof: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler


class _KinetoProfile:
    """Records between `start` and `stop`, and gives what it recorded in many forms. `profile` adds steps and a schedule."""

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
    ) -> None:
        """`activities`: `ProfilerActivity` members; those that are not supported here are left out, with a warning.

        Shapes are always recorded; `record_shapes` and the other flags are noted in files. `profile_memory`: also each block of
        memory that tensors and kernels get from a device, or give back. `with_flops` adds the operations that operators need to
        tables. `all_calls`: also calls without a tensor among their arguments. `max_events`: of each thread, calls
        and ranges together; further ones are counted (`trace.dropped`).
        """
        self.activities = supported_activities() if activities is None else set(_known_activities(activities))
        _expect(self.activities, "activities must have at least one member")
        if with_stack:
            warnings.warn("with_stack has no effect so far: opdyno does not record that yet", stacklevel=3)
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules, self.experimental_config = with_flops, with_modules, experimental_config
        self._metadata: dict[str, str] = {}
        self._profiler = _native.opd_profiler_create(
            {"all_calls": int(bool(all_calls)), "max_events": max_events, "profile_memory": int(bool(profile_memory))}
        )
        self._trace: Trace | None = None

    def start(self) -> None:
        """Records from now on; an `Error` (code FAILED_PRECONDITION) if it was started already."""
        _native.opd_profiler_start(self._profiler)

    def stop(self) -> None:
        """Ends the recording at once. Runs of programs and ranges that have not ended are in the trace, marked as open."""
        self._keep(_native.opd_profiler_stop(self._profiler))

    def _keep(self, trace: Trace | None) -> bool:
        if trace is not None:
            self._trace = trace
        return trace is not None

    @property
    def trace(self) -> Trace:
        """The last recording that ended."""
        _expect(self._trace is not None, "the profiler has recorded nothing yet: start it, and stop it")
        assert self._trace is not None  # for type checkers
        return self._trace

    def events(self) -> EventList:
        """Each call, run of a program and range, in the order of their begins."""
        return events_of(self.trace, self.with_flops)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
    ) -> EventList:
        """The same, joined by name, and by shapes if asked to. The other arguments have no effect here."""
        return averages_of(self.trace, bool(group_by_input_shape), self.with_flops)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes Chrome trace events; compressed if the path ends in ".gz". Any number of times."""
        self._save(path, _native.OPD_TRACE_CHROME, metadata=self._all_metadata())

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total", *, per_event: bool = False
    ) -> None:
        """Writes lines for flame graphs: names from the outermost inwards joined by ";", and the time of the innermost alone.

        One line for all spans of one stack, in ns; with `per_event` one for each, in µs, as PyTorch does. `metric` may be
        "self_cuda_time_total". ValueError for another.
        """
        self._save(path, _native.OPD_TRACE_STACKS, metric=metric, per_event=int(per_event))

    def export_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Writes Perfetto's own form, an eighth of Chrome's in size. Files are named .pftrace or .pftrace.gz."""
        self._save(path, _native.OPD_TRACE_PERFETTO)

    def export_speedscope(self, path: str | os.PathLike[str]) -> None:
        """Writes a file for https://www.speedscope.app."""
        self._save(path, _native.OPD_TRACE_SPEEDSCOPE)

    def export_pprof(self, path: str | os.PathLike[str]) -> None:
        """Writes a profile for pprof, of the number of spans and the time of each stack."""
        self._save(path, _native.OPD_TRACE_PPROF)

    def export_html(self, path: str | os.PathLike[str]) -> None:
        """Writes a page for a browser: time line, flame graph and table of operators. It needs no network."""
        self._save(path, _native.OPD_TRACE_HTML)

    def export_flame_graph(self, path: str | os.PathLike[str]) -> None:
        """Writes a flame graph as SVG. Titles of its boxes have the times and the numbers of spans."""
        self._save(path, _native.OPD_TRACE_FLAME_SVG)

    def export_memory_timeline(self, path: str | os.PathLike[str], device: str | None = None) -> None:
        """Writes the memory in use over time by category, of a device such as "cuda:0"; None: the one that is not the host.

        Paths: "….html": a page; "….raw.json.gz": a list of (ns, action, bytes, category); else a list of times and of sizes by
        category, compressed if the path ends in ".gz". ValueError without `profile_memory=True`.
        """
        if not self.profile_memory:
            raise ValueError("a memory timeline needs profile_memory=True")
        name = os.fspath(path)
        form = _native.OPD_TRACE_MEMORY_TIMELINE
        if name.endswith(".html"):
            form = _native.OPD_TRACE_MEMORY_TIMELINE_HTML
        elif name.endswith(".raw.json.gz"):
            form = _native.OPD_TRACE_MEMORY_TIMELINE_RAW
        self._save(path, form, device=device)

    def _save(self, path: str | os.PathLike[str], form: int, **options: Any) -> None:
        _native.opd_trace_save(self.trace, os.fspath(path), form, options)

    def _all_metadata(self) -> str:
        flags = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
        known = {name: "1" for name in flags if getattr(self, name)}
        known["host_name"] = json.dumps(socket.gethostname())
        return "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in {**known, **self._metadata}.items()) + "}"

    def add_metadata(self, key: str, value: str) -> None:
        """Adds a text to files, also after the recording."""
        self._metadata[str(key)] = json.dumps(str(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds what the JSON text says. ValueError if it is no JSON."""
        try:
            json.loads(value, parse_constant=_refuse_constant)
        except ValueError as error:
            raise ValueError(f"the metadata {key!r} is not valid JSON: {error}") from None
        self._metadata[str(key)] = value

    preset_metadata_json = add_metadata_json

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Does nothing: what is recorded costs too little to be switched while it is."""
        _known_activities(activities)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _known_activities(activities: Iterable[Any]) -> list[ProfilerActivity]:
    """Torch's own members are known by their names."""
    found = []
    for activity in activities:
        name = getattr(activity, "name", None)
        if name not in ProfilerActivity.__members__:
            raise ValueError(f"{activity!r} is no activity; known are {', '.join(ProfilerActivity.__members__)}")
        known = ProfilerActivity[str(name)]
        if known in supported_activities():
            found.append(known)
        else:
            warnings.warn(f"the activity {name} is not supported here and is left out", stacklevel=4)
    return found


class profile(_KinetoProfile):  # noqa: N801  torch.profiler's name
    """Records the process between `start` and `stop`; a context manager. May be started again. Any thread may use it.

    With a `schedule`, `step()` ends a step of the program, and the schedule says by its number what the next one is for.
    `on_trace_ready(profile)` is called whenever a trace is complete, also at the end of the `with` block.
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
        acc_events: bool = False,
        use_cuda: bool | None = None,
        all_calls: bool = False,
        max_events: int = 1 << 20,
    ) -> None:
        if use_cuda is not None:
            warnings.warn("use_cuda is deprecated, use the activities argument instead", DeprecationWarning, stacklevel=2)
            if activities is None:
                activities = {ProfilerActivity.CPU} | ({ProfilerActivity.CUDA} if use_cuda else set())
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
        )
        self.schedule, self.on_trace_ready, self.acc_events = schedule, on_trace_ready, acc_events
        self.step_num = 0
        self.current_action = self._action()

    def _action(self) -> ProfilerAction:
        if self.schedule is None:
            return ProfilerAction.RECORD
        action = self.schedule(self.step_num)
        if not isinstance(action, ProfilerAction):
            action = ProfilerAction[getattr(action, "name", str(action))]  # torch's own
        return action

    def _set_action(self) -> None:
        if self.schedule is not None:
            quiet = self.current_action not in (ProfilerAction.WARMUP, *_RECORDS)
            _native.opd_profiler_set_action(self._profiler, 0 if quiet else self.current_action.value)

    def start(self) -> None:
        """Records from now on, or as the schedule says; an `Error` (code FAILED_PRECONDITION) if it was started already."""
        self._set_action()
        super().start()

    def stop(self) -> None:
        """Ends the recording at once. Runs of programs and ranges that have not ended are in the trace, marked as open."""
        if self._keep(_native.opd_profiler_stop(self._profiler)) and self.on_trace_ready:
            self.on_trace_ready(self)

    def step(self) -> None:
        """Ends a step of the program, which the next one follows."""
        self.step_num += 1
        self.current_action = self._action()
        self._set_action()
        if self._keep(_native.opd_profiler_step(self._profiler)) and self.on_trace_ready:
            self.on_trace_ready(self)

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """The text that `callback` gives is the member "trace_id" of files."""
        self.add_metadata("trace_id", callback())

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


record_function = _native.record_function  # native/record_function.cc

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "_KinetoProfile",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
