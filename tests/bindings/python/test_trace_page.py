"""Tests that the page of a trace shows the same data as the Chrome trace of the recording. Needs chromium."""

import html
import json
import re
import shutil
import subprocess
import threading
import time
from collections import defaultdict
from decimal import Decimal
from xml.etree import ElementTree

import numpy
import pytest

import opdyno
from opdyno import _native
from opdyno.profiler import profile, record_function, schedule

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(not BROWSER, reason="no chromium")

NASTY = [
    "</script><script>document.title = 'taken'</script>",
    "<!--<script>",
    "<b id=bold>&amp;\"'",
    "back\\slash \\u0041 ${1}`",
    "line\nend\r\t\1\x1b\x7f\u2028",
    "ünïcode 漢字 🎉",
    "",
    "TRACE_DATA @page_script@",
    "constructor",
    "__proto__",
]

# Runs `body` in the page when it shows the trace, and stores the result of `body` in the page.
DRIVER = """<script>(async () => {
const byClass = name => [...document.getElementsByClassName(name)], wait = ms => new Promise(done => setTimeout(done, ms));
const cells = () => [...document.querySelectorAll('#table tbody tr')].map(row => [...row.cells].map(cell => cell.title || cell.textContent));
const search = async text => { byId('search').value = text; byId('search').dispatchEvent(new Event('input')); await wait(400); };
const press = (key, where = document.body) => where.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
const text = selector => document.querySelector(selector)?.textContent;
const boxes = () => { byId('show-flame').click(); return byClass('frame').map(box => [box.textContent, {...box.dataset}, box.style.left, box.style.width, box.title]); };
const picture = async () => { await wait(50); return document.querySelector('canvas').toDataURL(); };
while (!document.documentElement.dataset.state) await wait(5);
let result;
try { result = await (async () => { BODY })(); } catch (error) { result = {failure: String(error.stack)}; }
document.body.append(Object.assign(document.createElement('pre'), {id: 'result', textContent: JSON.stringify(result)}));
})();</script>"""


def shown(path, body, before=""):
    """Opens the page in a headless browser and returns the result of `body`. The script `before` runs first."""
    page = path.read_text()
    driven = path.with_suffix(".driven.html")
    page = page.replace("<head>", f"<head><script>{before}</script>", 1)
    driven.write_text(page.replace("</body></html>", DRIVER.replace("BODY", body) + "</body></html>"))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900"]
    command += [f"--user-data-dir={path.parent / 'browser'}", "--virtual-time-budget=20000", "--dump-dom", f"file://{driven}"]
    dump = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'<pre id="result">(.*?)</pre>', dump, re.DOTALL)
    assert found, dump[-2000:]
    result = json.loads(html.unescape(found[1]))
    assert not (isinstance(result, dict) and "failure" in result), result["failure"]
    return result


def spans_of(p, path):
    """The spans as (thread, begin, end, name, category) in ns, sorted by begin, outer spans first. Spans that only
    number runs are left out."""
    p.export_chrome_trace(path)
    spans = []
    for event in json.loads(path.read_text(), parse_float=Decimal)["traceEvents"]:
        if event["ph"] == "X":
            begin = int(event["ts"] * 1000)
            spans.append((event["tid"], begin, begin + int(event["dur"] * 1000), event["name"], event["cat"]))
    return sorted(spans, key=lambda span: (span[0], span[1], -span[2]))


def pictured(name):
    """The name as the page writes it: control characters are replaced by their symbols."""
    controls = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421", 0x2028: "\ufffd"}
    return name.translate(controls) or "(no name)"


def ns(title):
    return float(re.fullmatch(r"([\d,.]+) ns", title)[1].replace(",", ""))


def stacks_of(spans):
    """A map from stacks to the count and duration of their spans. The spans must nest."""
    found, open_spans = defaultdict(lambda: [0, 0]), []
    for thread, begin, end, name, _ in spans:
        while open_spans and (open_spans[-1][0] != thread or open_spans[-1][1] <= begin):
            open_spans.pop()
        open_spans.append((thread, end, name))
        sums = found[tuple(span[2] for span in open_spans)]
        sums[0] += 1
        sums[1] += end - begin
    return found


def nested(levels):
    with record_function(f"level {levels}"):
        for i in range(levels):
            nested(i)


@needs_browser
def test_names_of_all_kinds_are_texts(tmp_path):
    with profile() as p:
        for number, name in enumerate(NASTY, 1):
            for _ in range(number):
                with record_function(name), record_function("inner"):
                    pass
    p.export_html(tmp_path / "trace.html")
    rows, title, summary, bold, details, others = shown(
        tmp_path / "trace.html",
        """await search('back'); byId('next').click(); const details = text('#selected'); await search('');
        return [cells(), document.title, text('#summary'), !!document.getElementById('bold'), details,
                [...document.querySelectorAll('[src],[href]')].length];""",
    )
    assert title.endswith(": opdyno trace") and not bold and others == 0
    assert summary.startswith("110 spans on 1 thread, ")
    counts = {row[0]: int(row[2]) for row in rows}
    assert counts == {pictured(name): number for number, name in enumerate(NASTY, 1)} | {"inner": 55}
    assert "back\\slash \\u0041 ${1}`" in details and "range" in details
    expected = defaultdict(int)
    for _, begin, end, name, _ in spans_of(p, tmp_path / "trace.json"):
        expected[pictured(name)] += end - begin
    for name, _, count, total, own, _, mean, _ in rows:
        assert abs(ns(total) - expected[name]) <= int(count)
        assert ns(mean) == pytest.approx(ns(total) / int(count), abs=0.1)
        assert ns(own) <= ns(total)
    whole, inner = sum(expected.values()), expected["inner"]
    assert sum(ns(row[4]) for row in rows) == pytest.approx(whole - inner, abs=220)  # self times cover each moment once


@needs_browser
def test_the_table_is_sorted_and_searched(tmp_path):
    with profile() as p:
        nested(4)
    p.export_html(tmp_path / "trace.html")
    by_self, by_count, by_name, found, none, order, is_reset = shown(
        tmp_path / "trace.html",
        """const names = () => cells().map(row => row[0]), sort = title => [...document.querySelectorAll('th button')]
          .find(button => button.textContent === title).click();
        const before = cells(); sort('Count'); const count = names(); sort('Name'); const name = names();
        await search('EVEL 2'); const found = [names(), text('#matches')]; const picked = [];
        for (let i = 0; i < 3; ++i) { press('Enter', byId('search')); picked.push(text('#selected dl').match(/Start([0-9.]+)/)[1]); }
        await search('nowhere'); const none = [names(), text('#table .note'), byId('next').disabled];
        press('Escape', byId('search')); return [before, count, name, found, none, picked, names().length];""",
    )
    # Each level calls all lower levels once, so a level has 2^(number of levels above) spans.
    assert {row[0]: int(row[2]) for row in by_self} == {"level 4": 1, "level 3": 1, "level 2": 2, "level 1": 4, "level 0": 8}
    own = [ns(row[4]) for row in by_self]
    assert own == sorted(own, reverse=True)
    assert by_count[:3] == ["level 0", "level 1", "level 2"] and by_name == [f"level {i}" for i in range(5)]
    assert found[0] == ["level 2"] and found[1].startswith("2 spans, self ")
    assert none == [[], "No name matches the search.", True] and is_reset == 5
    assert float(order[0]) < float(order[1]) and order[2] == order[0], "behind the last one comes the first"


@needs_browser
def test_the_flame_graph_has_the_stacks(tmp_path):
    with profile() as p:
        for _ in range(3):
            nested(3)
    p.export_html(tmp_path / "trace.html")
    expected = stacks_of(spans_of(p, tmp_path / "trace.json"))
    whole = sum(total for stack, (_, total) in expected.items() if len(stack) == 1)
    boxes, zoomed, alone = shown(
        tmp_path / "trace.html",
        """const all = boxes(); byClass('frame').find(box => box.textContent === 'level 2').click(); const zoomed = boxes();
        byClass('frame')[0].click(); const again = boxes(); await search('level 1'); byId('next').click();
        byId('within').click(); await search(''); const alone = [boxes(), text('#scope'), (byId('show-table').click(), cells())];
        return [all, zoomed, alone, again.length === all.length];""",
    )[:3]
    assert boxes[0][0] == "all" and abs(int(boxes[0][1]["total"]) - whole) <= 100
    paths, found = [], {}
    for name, data, left, width, title in boxes[1:]:
        row, x = int(data["row"]), float(left[:-1])
        around = max(((box, at) for box, at in paths if len(box) == row - 1 and at <= x + 1e-6), default=((), 0), key=lambda each: each[1])[0]
        paths.append(((*around, name), x))
        found[(*around, name)] = int(data["count"]), int(data["total"]), float(width[:-1])
        assert f"{data['count']} span" in title and "self " in title
    wide = {stack: sums for stack, sums in expected.items() if sums[1] > whole / 1000}
    assert set(wide) <= set(found) <= set(expected)
    for stack, (count, total, width) in found.items():
        assert count == expected[stack][0] and abs(total - expected[stack][1]) <= 100
        assert width == pytest.approx(100 * expected[stack][1] / whole, abs=0.5)
    assert [box[0] for box in zoomed[:3]] == ["all", "level 3", "level 2"] and all(box[3] == "100%" for box in zoomed[:3])
    assert [box[0] for box in alone[0][:2]] == ["all", "level 1"] and alone[1].startswith("of level 1 alone")
    assert {row[0]: row[2] for row in alone[2]} == {"level 1": "1", "level 0": "1"}


@needs_browser
def test_the_time_line_is_drawn_and_moved(tmp_path):
    def work():
        with record_function("other thread"):
            begun = [_native.opd_range_begin(_native.opd_range_name(name)) for name in ("a", "b", "c")]
            for handle in begun:
                _native.opd_range_end(handle)

    with profile() as p:
        with record_function("outer"), record_function("inner"):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        _native.opd_range_mark(_native.opd_range_name("mark"))
    p.export_html(tmp_path / "trace.html")
    result = shown(
        tmp_path / "trace.html",
        """const canvas = document.querySelector('canvas'), pen = canvas.getContext('2d'), box = canvas.getBoundingClientRect();
        canvas.setPointerCapture = () => {};  // there is no pointer
        const at = (type, x, y, Kind = PointerEvent, more = {}) => canvas.dispatchEvent(new Kind(type,
          {clientX: box.left + x, clientY: box.top + y, button: 0, bubbles: true, cancelable: true, ...more}));
        const pixel = (x, y) => [...pen.getImageData(x, y, 1, 1).data].join();
        const whole = await picture(), pixels = [pixel(box.width / 2, 24 + 20 + 3), pixel(box.width / 2, box.height - 3)];
        const seen = {};
        for (const [name, act] of Object.entries({
          w: () => press('w'), s: () => press('s'), d: () => { press('w'); press('d'); }, a: () => { press('w'); press('a'); },
          wheel: () => at('wheel', 300, 100, WheelEvent, {deltaY: -200}),
          drag: () => { press('w'); at('pointerdown', 300, 100); at('pointermove', 200, 100); at('pointerup', 200, 100); },
          fold: () => { at('pointerdown', 100, 30); at('pointerup', 100, 30); }})) {
          act(); seen[name] = await picture(); press('0'); if (name === 'fold') act();
        }
        const back = await picture();
        at('pointermove', box.width / 2, 24 + 20 + 3); const tip = byId('tip').hidden ? '' : text('#tip');
        at('pointerdown', box.width / 2, 24 + 20 + 20); at('pointerup', box.width / 2, 24 + 20 + 20);
        const selected = text('#selected dl'); press('f'); const near = await picture(); press('Escape');
        return {pixels, different: new Set([whole, ...Object.values(seen)]).size, same: back === whole, tip, selected, near: near !== whole,
                isHidden: byId('selected').hidden, summary: text('#summary'), table: cells().map(row => row[0]).sort()};""",
        "window.requestAnimationFrame = draw => setTimeout(draw, 5)",  # a headless browser may have no frames
    )
    assert result["pixels"][0] != result["pixels"][1], "the outermost span is a box"
    assert result["different"] == 1 + 7 and result["same"] and result["near"] and result["isHidden"]
    assert result["tip"].split("\n")[0] in ("outer", "other thread")
    assert result["selected"].startswith("Name")
    assert result["summary"].startswith("7 spans on 2 threads, ")
    assert result["table"] == ["a", "b", "c", "inner", "other thread", "outer"], "marks take no time"


@needs_browser
def test_what_is_missing_or_open_is_said(tmp_path):
    with profile(max_events=40) as p:
        for _ in range(100):
            with record_function("fits"):
                pass
    p.export_html(tmp_path / "full.html")
    with profile() as p, record_function("open"):
        p.stop()
        p.export_html(tmp_path / "open.html")
        p.start()
    with profile() as p:
        pass
    p.export_html(tmp_path / "empty.html")
    say = "return [text('#warnings'), text('#summary'), text('#table .note'), cells().length, boxes().length]"
    full, still_open, empty = (shown(tmp_path / f"{name}.html", say) for name in ("full", "open", "empty"))
    assert "60 events found no room" in full[0] and "60 of thread" in full[0] and full[1].startswith("40 spans")
    assert "1 span had not ended" in still_open[0] and still_open[3] == 1
    assert empty == ["", "The trace has no spans.", "There are no spans.", 0, 1]
    without = shown(tmp_path / "full.html", "return [text('#warnings'), document.documentElement.dataset.state]", "delete window.DecompressionStream")
    assert "no DecompressionStream" in without[0] and without[1] == "failed"


# A kernel that runs two tasks of two milliseconds each at the same time.
LOOP = """
#include <unistd.h>
extern int TVMBackendParallelLaunch(int (*task)(int, void *, void *), void *data, int n);
static int part(int number, void *group, void *data) { return usleep(2000), 0; }
int __tvm_ffi_loop(void *self, const void *args, int n, void *result) { return TVMBackendParallelLaunch(part, 0, 2); }
"""


@needs_browser
def test_tasks_and_stacks_are_shown(tmp_path):
    program = opdyno.Executable.assemble(".func main(x) {\n  call loop(%x)\n  ret %x\n}").to_module()
    program.import_module(opdyno.load_source(LOOP, cache_dir=str(tmp_path)))
    vm = opdyno.VirtualMachine(program, opdyno.cpu())

    def serve():
        vm["main"](numpy.ones(4, "float32"))

    with profile(with_stack=True) as p:
        serve()
    p.export_html(tmp_path / "trace.html")
    rows, stacks, picked = shown(
        tmp_path / "trace.html",
        """await search('loop'); const picked = [];
        for (let i = 0; i < 3; ++i) {
          byId('next').click();
          const details = [...document.querySelectorAll('#selected dl div')].map(line => [...line.children].map(cell => cell.textContent));
          picked.push([Object.fromEntries(details), document.querySelector('#selected .stack').innerText, byId('within').hidden]);
        }
        await search('');
        return [cells(), boxes().map(box => [box[0], box[1].count]), picked];""",
    )
    assert sorted(row[:3] for row in rows) == [["loop", "call", "1"], ["main", "run", "1"]], "tasks are no operators"
    assert next(ns(row[4]) for row in rows if row[0] == "loop") >= 2e6, "an operator has the time of its tasks"
    assert [box[0] for box in stacks] == ["all", "main", "loop"] and stacks[2][1] == "1"
    (operator, stack, _), *tasks = sorted(picked, key=lambda each: each[0]["Kind"])
    assert operator["Kind"] == "call" and operator["Spans within"] == "1" and "Task" not in operator
    assert stack.startswith("Called by\n") and f"{__file__}({serve.__code__.co_firstlineno + 1}): serve" in stack.split("\n")[1]
    assert {details["Task"] for details, *_ in tasks} == {"0 of 2", "1 of 2"}
    assert all(details["Kind"] == "task" and "Self" not in details and is_scope_hidden for details, _, is_scope_hidden in tasks)
    by_task = {details["Task"]: details["Thread"] for details, *_ in tasks}
    assert by_task["0 of 2"] == operator["Thread"] and "opd-worker" in by_task["1 of 2"]


@needs_browser
def test_the_time_line_is_no_higher_than_its_rows(tmp_path):
    with profile() as p:
        nested(2)
    p.export_html(tmp_path / "low.html")
    with profile() as p:
        nested(7)
    p.export_html(tmp_path / "high.html")
    say = "return document.getElementById('timeline').getBoundingClientRect().height;"
    low, high = (shown(tmp_path / f"{name}.html", say) for name in ("low", "high"))
    assert low == 160, "the least height"
    assert high == 24 + 20 + 8 * 17 + 4 + 2, "the times, the head, eight rows"


@needs_browser
def test_steps_are_joined_in_the_table_only(tmp_path):
    with profile(schedule=schedule(wait=0, warmup=0, active=3, repeat=1)) as p:
        for _ in range(3):
            p.step()
    p.export_html(tmp_path / "trace.html")
    rows, details = shown(tmp_path / "trace.html", "await search('Step#1'); byId('next').click(); const name = text('#selected'); await search(''); return [cells(), name];")
    assert [(row[0], row[1], row[2]) for row in rows] == [("ProfilerStep*", "step", "3")]
    assert details.startswith("NameProfilerStep#1Kindstep")


@needs_browser
def test_the_memory_page_shows_its_labels_whole(tmp_path):
    with profile(profile_memory=True) as p:
        block = opdyno.empty((1_752_940,), "uint8")  # 1.67 MB; the quarters of this size have long texts
    p.export_memory_timeline(tmp_path / "memory.html")
    assert block.shape == (1_752_940,)
    heading, rows, is_free = shown(
        tmp_path / "memory.html",
        """const pen = document.querySelector('canvas').getContext('2d');
        const rows = [...document.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.textContent).slice(0, 2));
        return [text('#when'), rows, pen.getImageData(0, 0, 2, 360).data.every(value => value === 0)];""",
        "document.documentElement.dataset.state = 'shown'",  # the page is drawn at once
    )
    assert heading.startswith("At the peak, ") and heading.endswith(": 1.67 MB in use")
    assert rows[0] == ["1.67 MB", "input"], "the largest block; others may be of earlier tests"
    assert is_free, "no label is cut at the left edge"


def test_flame_graphs_are_xml(tmp_path):
    with profile() as p:
        for name in [*NASTY, "no character \ufffe\uffff"]:
            with record_function(name):
                nested(1)
                time.sleep(1e-3)  # makes its box wide
    p.export_flame_graph(tmp_path / "flame.svg")
    p.export_html(tmp_path / "trace.html")
    root = ElementTree.parse(tmp_path / "flame.svg").getroot()
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert 1 + 11 <= len(titles) <= 1 + 3 * 11 and all("alone" in title for title in titles)
    assert any(title.startswith("<b id=bold>&amp;\"'\n") for title in titles)
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    assert (tmp_path / "trace.html").stat().st_size < 60_000
