// Writes the report as one HTML page: charts, a sortable table, the configuration. Foreign text is escaped. The page
// loads nothing else, and its content policy forbids it.
#include "report/writers/report_charts.h"
#include "report/writers/report_summary.h"

namespace opd {
namespace {

// Style and script shared by all reports' pages. The script sorts and filters. They need no other file.

// Colours: blue on white and on near-black. Text has a contrast of 4.5 : 1 or more, marks of 3 : 1 or more.
constexpr std::string_view kPageStyle = R"(
:root{color-scheme:light dark;--page:#fff;--text:#1b1f24;--soft:#57606a;--line:#d0d7de;--mark:#1f6feb;--other:#8c959f;--roof:#b35900;--row:#f6f8fa}
@media(prefers-color-scheme:dark){:root{--page:#0f1419;--text:#e6edf3;--soft:#9aa5b1;--line:#343b44;--mark:#58a6ff;--other:#768390;--roof:#f0a04b;--row:#171d24}}
*{box-sizing:border-box}
body{margin:0 auto;padding:24px;max-width:1120px;background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif}
h1{font-size:24px;margin:0}h2{font-size:18px;margin:32px 0 8px}
.soft{color:var(--soft);margin:4px 0}
.warning{border-left:4px solid var(--roof);padding:4px 12px;margin:8px 0}
.conclusion{font-size:17px;font-weight:600;margin:12px 0}
.bars .row{display:grid;grid-template-columns:minmax(0,15em) 1fr 10em;gap:0 12px;align-items:center;margin:3px 0}
.bars .who{text-align:right;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.bars .track{height:18px;background:var(--row);border-radius:3px}
.bars .bar{display:block;height:100%;min-width:1px;background:var(--mark);border-radius:3px}
.bars .soft{margin:0;white-space:nowrap;font-variant-numeric:tabular-nums}
@media(max-width:640px){body{padding:12px}.bars .row{grid-template-columns:1fr max-content}.bars .who{text-align:left}.bars .track{grid-row:2;grid-column:1/3;height:10px}}
.chart{overflow-x:auto}svg{display:block;width:100%;min-width:520px;height:auto}
svg text{fill:var(--text);font:13px system-ui,sans-serif}svg .soft{fill:var(--soft)}
.name{paint-order:stroke;stroke:var(--page);stroke-width:4px;stroke-linejoin:round}
.dot{fill:var(--mark)}.dot{fill-opacity:.65;stroke:var(--page)}
.axis{stroke:var(--line)}.roof{stroke:var(--roof);stroke-width:2;fill:none}
.scroll{overflow:auto;max-height:90vh}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:4px 10px;vertical-align:top;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th.text,td.text{text-align:left}
td.text{white-space:normal;overflow-wrap:anywhere}
td:first-child,td:nth-child(6){min-width:240px}
thead th{position:sticky;top:0;background:var(--page)}
tbody tr:nth-child(even){background:var(--row)}
tfoot td{font-weight:600}
th button{all:unset;cursor:pointer;font-weight:600}
th button:focus-visible{outline:2px solid var(--mark);outline-offset:2px}
th button::after{content:"\2195";opacity:.35;margin-left:4px}
th[aria-sort=ascending] button::after{content:"\2191";opacity:1}
th[aria-sort=descending] button::after{content:"\2193";opacity:1}
input{font:inherit;color:inherit;background:var(--page);border:1px solid var(--other);border-radius:6px;padding:4px 10px;margin:0 0 8px;width:280px;max-width:100%}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 24px;margin:0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
@media print{input{display:none}.scroll{max-height:none}th button::after{content:""}}
)";

// Missing numbers stay last in both directions.
constexpr std::string_view kPageScript = R"(
const table=document.querySelector('table'),body=table.tBodies[0],rows=[...body.rows];
[...table.tHead.rows[0].cells].forEach((head,column)=>{
  const button=document.createElement('button'),text=head.classList.contains('text');
  button.type='button';button.append(...head.childNodes);head.append(button);
  button.onclick=()=>{
    const up=head.ariaSort?head.ariaSort==='descending':text;
    for(const other of table.tHead.rows[0].cells)other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort',up?'ascending':'descending');
    const key=new Map(rows.map(row=>{const cell=row.cells[column].textContent;return[row,text?cell:cell===''?NaN:Number(cell.replace('<',''))]}));
    rows.sort((a,b)=>{
      const x=key.get(a),y=key.get(b),way=up?1:-1;
      return text?way*x.localeCompare(y,undefined,{numeric:true}):isNaN(x)-isNaN(y)||way*(x<y?-1:x>y?1:0)});
    body.append(...rows)}});
const filter=document.createElement('input');
filter.type='search';filter.placeholder='Filter rows';filter.setAttribute('aria-label','Filter rows');
table.parentNode.before(filter);
filter.oninput=()=>{const wanted=filter.value.toLowerCase();
  for(const row of rows)row.hidden=!row.textContent.toLowerCase().includes(wanted)};
)";

class Page {
 public:
  Page(const ReportRows &rows, bool sorted) : rows_(rows), sorted_(sorted) {
    for (size_t i = 0; i < rows.headers().size(); ++i) is_text_.push_back(i == 0 || rows.is_text_column(i));
  }

  std::string write() {
    out_ =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>opdyno "
        "report</title>\n<style>";
    append(out_, kPageStyle);
    out_ += "</style></head><body>\n<h1>Where the time went</h1>\n";
    for (const std::string &warning : warnings_of(rows_.report())) write_paragraph("warning", warning);
    write_summary();
    for (const std::string &text : {conclusion_of(rows_), wait_text_of(rows_)})
      if (!text.empty()) write_paragraph("conclusion", text);
    out_ += "<h2>Time per operator</h2>\n";
    append_bars(out_, rows_);
    append_roofline(out_, rows_);
    out_ += "<h2>All operators</h2>\n<div class=\"scroll\">";
    write_table();
    out_ += "</div>\n";
    write_configuration();
    append(out_ += "<script>", kPageScript);
    out_ += "</script></body></html>\n";
    return std::move(out_);
  }

 private:
  void write_paragraph(std::string_view kind, std::string_view text) {
    append_html(out_ += concat("<p class=\"", kind, "\">"), text);
    out_ += "</p>\n";
  }

  void write_summary() {
    out_ += "<p class=\"soft\">";
    const RunMedians *const runs = rows_.run_medians();
    for (const auto &[device, metrics] : rows_.report().devices())
      for (const auto &[name, metric] : metrics)
        if (name == "Duration (us)" && metric.is_number()) {
          append_time(out_, runs ? runs->total_us : metric.number());
          append_html(out_ += " on ", device);
          out_ += runs ? concat(" (median of ", runs->num_shown, " runs), ") : ", ";
        }
    append(out_, counted(num_operator_calls(), "call"));
    if (rows_.num_calls() != rows_.report().num_rows()) append(out_ += " in ", counted(rows_.num_calls(), "row"));
    out_ += "</p>\n";
  }

  size_t sorted_by() const { return rows_.run_medians() ? rows_.find(kRunMedianColumn) : ReportRows::kDuration; }

  // Does not count the rows that a profile adds for time outside of operators.
  size_t num_operator_calls() const { return rows_.report().num_rows() - rows_.report().computed_rows().size(); }

  void write_table() {
    out_ += "<table><thead><tr>";
    for (size_t i = 0; i < is_text_.size(); ++i) {
      out_ += is_text_[i] ? "<th scope=\"col\" class=\"text\"" : "<th scope=\"col\"";
      if (sorted_ && i == sorted_by()) out_ += " aria-sort=\"descending\"";
      append_html(out_ += '>', rows_.headers()[i]);
      out_ += "</th>";
    }
    out_ += "</tr></thead>\n<tbody>\n";
    for (size_t row = 0; row < rows_.num_calls(); ++row) write_row(row);
    out_ += "</tbody>\n<tfoot>\n";
    const bool sums = rows_.num_rows() > rows_.num_calls() + rows_.num_totals();  // their rule is not shown
    for (size_t row = rows_.num_calls() + sums; row < rows_.num_rows(); ++row) write_row(row);
    out_ += "</tfoot></table>";
  }

  void write_row(size_t row) {
    out_ += "<tr>";
    for (size_t i = 0; i < is_text_.size(); ++i) {
      append_html(out_ += is_text_[i] ? "<td class=\"text\">" : "<td>", rows_.text(row, i));
      out_ += "</td>";
    }
    out_ += "</tr>\n";
  }

  void write_configuration() {
    if (rows_.report().configuration().empty()) return;
    out_ += "<h2>Configuration</h2>\n<dl>\n";
    for (const auto &[key, metric] : rows_.report().configuration()) {
      std::string text;
      rows_.append_text(text, metric);
      append_html(out_ += "<dt>", key);
      append_html(out_ += "</dt><dd>", text);
      out_ += "</dd>\n";
    }
    out_ += "</dl>\n";
  }

  const ReportRows &rows_;
  bool sorted_;
  std::vector<bool> is_text_;
  std::string out_;
};

}  // namespace

std::string Report::to_html(bool sort, bool aggregate, bool col_sums) const {
  return Page(ReportRows(*this, sort, aggregate, col_sums), sort).write();
}

}  // namespace opd
