// Style and script of the page of a memory timeline. They need no other file.
#pragma once
#include <string_view>

namespace opd {

// Colours: one hue for each category, with a contrast of 3 : 1 or more against both pages.
inline constexpr std::string_view kTimelineStyle = R"(
:root{color-scheme:light dark;--page:#fff;--text:#1b1f24;--soft:#57606a;--line:#d0d7de;--row:#f6f8fa;--c0:#1f6feb;--c1:#b5256c;--c2:#1a7f5a;--c3:#b35900;--c4:#8250df;--c7:#768390}
@media(prefers-color-scheme:dark){:root{--page:#0f1419;--text:#e6edf3;--soft:#9aa5b1;--line:#343b44;--row:#171d24;--c0:#58a6ff;--c1:#f778ba;--c2:#3fb58a;--c3:#f0a04b;--c4:#b18cff;--c7:#8b96a1}}
*{box-sizing:border-box}
body{margin:0 auto;padding:24px;max-width:1120px;background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif}
h1{font-size:24px;margin:0}h2{font-size:18px;margin:24px 0 8px}
.soft{color:var(--soft);margin:4px 0}
#chart{position:relative}
canvas{display:block;width:100%;height:360px;cursor:crosshair;touch-action:pan-y}
canvas:focus-visible{outline:2px solid var(--c0);outline-offset:2px}
#tip{position:absolute;top:8px;pointer-events:none;background:var(--page);border:1px solid var(--line);border-radius:6px;padding:6px 10px;font-size:13px;font-variant-numeric:tabular-nums;max-width:340px;overflow-wrap:anywhere}
.key{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}
#legend span{margin-right:18px;white-space:nowrap}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:4px 10px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th.text,td.text{text-align:left}td.name{white-space:normal;overflow-wrap:anywhere;min-width:200px}
tbody tr:nth-child(even){background:var(--row)}
)";

// `data`: categories by number, names of spans, rows of the chart, the largest blocks. Foreign text is only set as
// textContent.
inline constexpr std::string_view kTimelineScript = R"(
const rows=data.rows,blocks=data.blocks,names=data.names,kinds=data.categories,used=Object.keys(kinds).map(Number);
const canvas=document.querySelector('canvas'),tip=document.querySelector('#tip'),pen=canvas.getContext('2d');
const sum=row=>row[1].reduce((a,b)=>a+b,0),most=Math.max(1,...rows.map(sum)),peak=Math.max(0,rows.findIndex(row=>sum(row)===data.peak));
const left=76,right=8,top_=10,bottom=26;
let from=0,to=rows.length?Math.max(rows.at(-1)[0],1):1,at=peak,pinned=true,drag=null;
const whole=[from,to];
const bytes=n=>{const a=Math.abs(n);for(const[unit,scale]of[['GB',2**30],['MB',2**20],['KB',2**10]])if(a>=scale)return(n/scale).toFixed(2)+' '+unit;return n+' B'};
const rung=Math.max(1,2**Math.floor(Math.log2(most/4)));
const time=us=>us<0?'before':us>=1e6?(us/1e6).toFixed(3)+' s':us>=1e3?(us/1e3).toFixed(3)+' ms':us.toFixed(1)+' µs';
const name=i=>i<0?'outside of ranges and calls':names[i];
const color=kind=>getComputedStyle(document.documentElement).getPropertyValue('--c'+kind).trim();
const add=(parent,tag,text,kind)=>{const made=document.createElement(tag);if(text!==undefined)made.textContent=text;if(kind)made.className=kind;parent.append(made);return made};
const key=(parent,kind)=>{add(parent,'i','','key').style.background=color(kind)};
const x=us=>left+(us-from)/(to-from)*(canvas.clientWidth-left-right),y=n=>top_+(1-n/most)*(360-top_-bottom);
const round=span=>{const power=10**Math.floor(Math.log10(span));return power*[1,2,5,10].find(n=>n*power>=span)};
const find=us=>{let low=0,high=rows.length-1;while(low<high){const middle=(low+high+1)>>1;if(rows[middle][0]<=us)low=middle;else high=middle-1}return low};
function draw(){
  const width=canvas.clientWidth,scale=devicePixelRatio||1;
  canvas.width=width*scale;canvas.height=360*scale;pen.setTransform(scale,0,0,scale,0,0);pen.clearRect(0,0,width,360);
  pen.font='12px system-ui,sans-serif';pen.lineWidth=1;
  const ink=getComputedStyle(document.documentElement),soft=ink.getPropertyValue('--soft'),line=ink.getPropertyValue('--line');
  pen.save();pen.beginPath();pen.rect(left,0,width-left-right,360);pen.clip();
  const below=rows.map(()=>0),first=Math.max(0,find(from)-1),last=Math.min(rows.length-1,find(to)+1);
  used.forEach((kind,place)=>{
    const under=below.slice();
    for(let i=first;i<=last;i++)below[i]+=rows[i][1][place];
    pen.beginPath();
    for(let i=first;i<=last;i++){pen.lineTo(x(rows[i][0]),y(below[i]));pen.lineTo(x(i<rows.length-1?rows[i+1][0]:whole[1]),y(below[i]))}
    for(let i=last;i>=first;i--){pen.lineTo(x(i<rows.length-1?rows[i+1][0]:whole[1]),y(under[i]));pen.lineTo(x(rows[i][0]),y(under[i]))}
    pen.fillStyle=color(kind);pen.fill();
  });
  if(drag){pen.fillStyle=soft;pen.globalAlpha=.25;pen.fillRect(Math.min(drag.from,drag.to),top_,Math.abs(drag.to-drag.from),360-top_-bottom);pen.globalAlpha=1}
  if(rows.length){pen.strokeStyle=ink.getPropertyValue('--text');pen.beginPath();pen.moveTo(x(rows[at][0]),top_);pen.lineTo(x(rows[at][0]),360-bottom);pen.stroke()}
  pen.restore();pen.fillStyle=soft;pen.strokeStyle=line;pen.textAlign='right';pen.textBaseline='middle';
  for(let n=0;n<=most;n+=rung){pen.fillText(bytes(n),left-6,y(n));pen.globalAlpha=.5;pen.beginPath();pen.moveTo(left,y(n));pen.lineTo(width-right,y(n));pen.stroke();pen.globalAlpha=1}
  const step=round((to-from)/8);pen.textAlign='center';pen.textBaseline='top';
  for(let t=Math.ceil(from/step)*step;t<=to;t+=step)if(x(t)>left+20&&x(t)<width-30)pen.fillText(time(t),x(t),360-bottom+6);
}
function show(){
  if(!rows.length)return;
  const row=rows[at];
  tip.replaceChildren();
  add(tip,'b',time(row[0])+': '+bytes(sum(row)));
  used.forEach((kind,place)=>{if(row[1][place]){const line=add(tip,'div');key(line,kind);line.append(kinds[kind]+' '+bytes(row[1][place]))}});
  add(tip,'div',row[4]?'written by '+name(row[2]):row[3]?(row[3]>0?'+':'−')+bytes(Math.abs(row[3]))+' by '+name(row[2]):'what was there before','soft');
  const place=x(row[0]);tip.style.left=place>canvas.clientWidth/2?'':place+12+'px';tip.style.right=place>canvas.clientWidth/2?canvas.clientWidth-place+12+'px':'';
  tip.hidden=row[0]<from||row[0]>to;
  const alive=blocks.filter(block=>block[0]<=row[0]&&(block[1]<0||block[1]>row[0])),body=document.querySelector('tbody');
  document.querySelector('#when').textContent=(at===peak?'At the peak, ':'At ')+time(row[0])+': '+bytes(sum(row))+' in use';
  body.replaceChildren();
  for(const[begin,end,size,kind,by]of alive.slice(0,50)){
    const line=add(body,'tr');add(line,'td',bytes(size));const cell=add(line,'td','','text');key(cell,kind);cell.append(kinds[kind]);
    add(line,'td',begin<0?'before the recording':name(by),'text name');add(line,'td',time(begin));add(line,'td',end<0?'to the end':time(end));
  }
  const shown=alive.slice(0,50).reduce((all,block)=>all+block[2],0),rest=sum(row)-shown;
  document.querySelector('#rest').textContent=rest>0?bytes(rest)+' more in smaller blocks.':'';
}
function go(to){at=Math.min(rows.length-1,Math.max(0,to));draw();show()}
const place=event=>event.clientX-canvas.getBoundingClientRect().left,us=px=>from+(px-left)/(canvas.clientWidth-left-right)*(to-from);
canvas.onpointerdown=event=>{drag={from:place(event),to:place(event)};canvas.setPointerCapture(event.pointerId)};
canvas.onpointermove=event=>{if(drag){drag.to=place(event);draw()}else if(!pinned&&rows.length)go(find(us(place(event))))};
canvas.onpointerenter=()=>{if(at===peak)pinned=false};
canvas.onpointerup=event=>{
  if(!drag)return;
  const[a,b]=[us(Math.min(drag.from,drag.to)),us(Math.max(drag.from,drag.to))],wide=Math.abs(drag.to-drag.from)>5;drag=null;
  if(wide){from=Math.max(a,whole[0]);to=Math.min(b,whole[1]);draw();show()}else if(rows.length){pinned=!pinned;go(find(us(place(event))))}
};
canvas.ondblclick=()=>{[from,to]=whole;pinned=false;draw();show()};
canvas.onkeydown=event=>{const way={ArrowLeft:-1,ArrowRight:1}[event.key];if(way&&rows.length){pinned=true;go(at+way);event.preventDefault()}else if(event.key==='Home'&&rows.length)go(peak);else if(event.key==='Escape')canvas.ondblclick()};
for(const[place,kind]of used.entries())if(rows.some(row=>row[1][place])){const entry=add(document.querySelector('#legend'),'span');key(entry,kind);entry.append(kinds[kind])}
document.querySelector('#peak').onclick=()=>{pinned=true;go(peak)};
matchMedia('(prefers-color-scheme:dark)').onchange=()=>location.reload();
onresize=draw;draw();show();
)";

}  // namespace opd
