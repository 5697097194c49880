// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief How a report looks: its palette, style sheet and the few lines of script behind the tooltips.
///
/// Colours are those of Okabe and Ito, which stay apart under every common colour vision, shifted where a page needs
/// more contrast; wherever two things share a chart they also differ in dash, pattern or label, so a print in grey says
/// the same.
#pragma once

#include <array>
#include <string>

namespace strata::detail::html {

/// One role on the page and its colour in the light and in the dark scheme.
struct swatch {
    char const* role;
    char const* light;
    char const* dark;
};

inline constexpr std::array<swatch, 17> palette{{
    {"page", "#ffffff", "#14171a"},
    {"panel", "#f5f6f7", "#1e2226"},
    {"ink", "#1a1d20", "#e8eaec"},
    {"muted", "#555b61", "#a9b0b7"},
    {"rule", "#d9dcdf", "#363c42"},
    {"link", "#0072b2", "#56b4e9"},
    {"plan", "#0072b2", "#56b4e9"},
    {"keep-all", "#8a9096", "#8a9096"},
    {"budget", "#d55e00", "#ff8c3a"},
    {"replay", "#c98500", "#e69f00"},
    {"bound", "#009e73", "#2fc79b"},
    {"forward", "#56b4e9", "#3d86b0"},
    {"backward", "#cc79a7", "#a3567f"},
    {"kept", "#56b4e9", "#3d86b0"},
    {"gradient", "#009e73", "#12805f"},
    {"saved", "#cc79a7", "#b5658f"},
    {"workspace", "#f0e442", "#b8ad2a"},
}};

/// The style sheet, with the palette as custom properties.
[[nodiscard]] inline auto report_css() -> std::string
{
    std::string light;
    std::string dark;
    for (auto const& s : palette) {
        auto const property = [&](char const* value) { return "--" + std::string(s.role) + ":" + value + ";"; };
        light += property(s.light);
        dark += property(s.dark);
    }
    return ":root{color-scheme:light dark;" + light + "}@media(prefers-color-scheme:dark){:root{" + dark + "}}" +
           R"css(
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;-webkit-text-size-adjust:100%}
main{max-width:1120px;margin:0 auto;padding:32px 24px 64px}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:1.25rem;line-height:1.3;margin:56px 0 4px}
p{margin:4px 0 12px;max-width:74ch;overflow-wrap:anywhere}
.eyebrow{color:var(--muted);font-size:.85rem;margin:0}
.verdict{font-size:1.15rem;margin:12px 0 24px;border-left:4px solid var(--plan);padding-left:14px}
.note{color:var(--muted);font-size:.9rem}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:12px;margin:0 0 24px;padding:0;list-style:none}
.tiles li{background:var(--panel);border-radius:8px;padding:12px 16px}
.tiles b{display:block;font-size:1.5rem;line-height:1.25;font-weight:650}
.tiles span{display:block;color:var(--muted);font-size:.85rem}
.tiles .what{color:var(--ink);font-weight:600}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--muted);padding:0 0 6px}
th,td{text-align:left;padding:6px 10px 6px 0;border-bottom:1px solid var(--rule);vertical-align:middle;overflow-wrap:break-word}
thead th{color:var(--muted);font-weight:600;white-space:nowrap;overflow-wrap:normal}
tbody th{font-weight:500;overflow-wrap:anywhere;min-width:7ch}
.n{text-align:right;white-space:nowrap;overflow-wrap:normal}
.pairs{display:grid;grid-template-columns:1fr 1fr;gap:16px 48px;align-items:start}.pairs th,.pairs td{padding-top:4px;padding-bottom:4px}.pairs caption{color:var(--ink);font-weight:600}
.pairs table{min-width:0}.pairs th{color:var(--muted);font-weight:400}.pairs td{text-align:right;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
.strip{width:34%;min-width:90px}.strip svg{display:block;background:var(--panel)}
.name{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.82rem;overflow-wrap:anywhere}
.name{min-width:9ch}.size{width:26%;min-width:64px}.bar{display:block;height:10px;background:var(--muted);border-radius:2px}
figure{margin:12px 0 0}
figcaption{color:var(--muted);font-size:.9rem}
.plot{padding:14px 18px 30px 76px;overflow-x:clip}
.plot svg{display:block;overflow:visible}
.plot svg svg{overflow:hidden}
.plot .runs{margin-top:40px}
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--muted)}
text.strong{fill:var(--ink);font-weight:600}
text.halo{paint-order:stroke;stroke:var(--page);stroke-width:4px;stroke-linejoin:round}
.legend{display:flex;flex-wrap:wrap;gap:4px 22px;margin:8px 0 0;padding:0;list-style:none;font-size:.9rem}
.legend svg{vertical-align:-2px;margin-right:8px}
.grid{stroke:var(--rule);stroke-width:1}
.axis{stroke:var(--muted);stroke-width:1}
path,line,rect{vector-effect:non-scaling-stroke}
.keep-area{fill:var(--keep-all);fill-opacity:.22}.keep-line{fill:none;stroke:var(--keep-all);stroke-width:1.5;stroke-dasharray:2 2}
.plan-area{fill:var(--plan);fill-opacity:.28}.plan-line{fill:none;stroke:var(--plan);stroke-width:2;stroke-linejoin:round}
.budget-line{fill:none;stroke:var(--budget);stroke-width:2;stroke-dasharray:9 5}
.resident{fill:url(#hatch-grey);stroke:none}
.bound-line{fill:none;stroke:var(--bound);stroke-width:2;stroke-dasharray:3 3}
.gap-area{fill:var(--bound);fill-opacity:.16}
.dot{fill:var(--page);stroke:var(--plan);stroke-width:2}.keep-dot{fill:var(--page);stroke:var(--keep-all);stroke-width:2}
.here{fill:var(--budget);stroke:var(--page);stroke-width:1.5}
.replayed{fill:var(--replay)}
.f-forward{fill:var(--forward)}.f-backward{fill:url(#p-backward)}.f-other{fill:var(--keep-all)}
.b-kept{fill:var(--kept)}.b-recomputed{fill:url(#p-recomputed)}.b-gradient{fill:url(#p-gradient)}
.b-saved{fill:url(#p-saved)}.b-workspace{fill:url(#p-workspace)}.b-small{fill:var(--keep-all);fill-opacity:.55}
.box{stroke:var(--page);stroke-width:.6}
.hit{fill:var(--ink);fill-opacity:0}.hit:hover{fill-opacity:.14}
.box:hover,.thin:hover{stroke:var(--ink);stroke-width:2}
.tip{position:absolute;z-index:9;max-width:min(320px,90vw);background:var(--ink);color:var(--page);font-size:.82rem;line-height:1.4;padding:6px 10px;border-radius:6px;pointer-events:none;white-space:pre-line;overflow-wrap:anywhere}
footer{margin-top:64px;border-top:1px solid var(--rule);padding-top:12px;color:var(--muted);font-size:.85rem}
details{margin-top:12px}summary{cursor:pointer;color:var(--link)}
@media(max-width:640px){
main{padding:20px 16px 48px}h1{font-size:1.5rem}h2{margin-top:44px}.verdict{font-size:1.05rem}
.tiles{grid-template-columns:1fr 1fr;gap:8px}.tiles li{padding:10px 12px}.tiles b{font-size:1.2rem}
.pairs{grid-template-columns:1fr}.plot{padding:14px 6px 28px 58px}.odd,.wide,.size{display:none}
text{font-size:11px}th,td{padding-right:8px}.strip{width:26%;min-width:70px}
}
@media print{.tip{display:none}h2{break-after:avoid}figure,table{break-inside:avoid}}
)css";
}

/// Turns the titles of shapes into tooltips that follow the pointer and answer a touch. Without it a browser shows the
/// titles by itself.
inline constexpr char const* report_js = R"js(
(()=>{const tip=document.createElement('div');tip.className='tip';tip.hidden=true;document.body.append(tip);
for(const t of document.querySelectorAll('.tips title')){t.parentNode.dataset.tip=t.textContent;t.remove()}
const show=e=>{const s=e.target.closest&&e.target.closest('[data-tip]');tip.hidden=!s;if(!s)return;
tip.textContent=s.dataset.tip;const w=tip.offsetWidth,h=tip.offsetHeight,r=document.documentElement.clientWidth;
tip.style.left=Math.max(4,Math.min(e.pageX+14,r-w-4))+'px';
tip.style.top=(e.clientY>h+24?e.pageY-h-14:e.pageY+18)+'px'};
for(const n of ['pointermove','pointerdown'])document.addEventListener(n,show);
document.addEventListener('scroll',()=>{tip.hidden=true},{passive:true})})();
)js";

/// The fill patterns that charts share. One svg per document.
inline constexpr char const* report_patterns =
    R"svg(<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>
<pattern id="hatch-grey" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6" style="stroke:var(--muted);stroke-width:1.5;stroke-opacity:.6"/></pattern>
<pattern id="p-backward" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="7" height="7" style="fill:var(--backward)"/><path d="M0 0V7" style="stroke:var(--page);stroke-width:2"/></pattern>
<pattern id="p-recomputed" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="7" height="7" style="fill:var(--replay)"/><path d="M0 0V7" style="stroke:var(--page);stroke-width:2.5"/></pattern>
<pattern id="p-gradient" width="6" height="5" patternUnits="userSpaceOnUse"><rect width="6" height="5" style="fill:var(--gradient)"/><path d="M0 2.5H6" style="stroke:var(--page);stroke-width:1.2"/></pattern>
<pattern id="p-saved" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect width="7" height="7" style="fill:var(--saved)"/><path d="M0 0V7" style="stroke:var(--page);stroke-width:2"/></pattern>
<pattern id="p-workspace" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" style="fill:var(--workspace)"/><path d="M0 0H6M0 0V6" style="stroke:#1a1d20;stroke-width:1;stroke-opacity:.55"/></pattern>
</defs></svg>)svg";

} // namespace strata::detail::html
