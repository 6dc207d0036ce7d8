//! Style sheet of the reports.

use crate::figure::{DARK_STYLE, STYLE};

const CSS: &str = "\
:root{color-scheme:light dark;--ink:#1d2430;--soft:#5a6472;--paper:#ffffff;--panel:#f6f7f9;
--line:#dfe3e8;--good:#0a6b3f;--good-back:#e2f4ea;--bad:#96400a;--bad-back:#fdeee0;--link:#0072b2}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.55;
font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif}
main{max-width:72rem;margin:0 auto;padding:1.6rem 1.1rem 4rem}
h1{font-size:1.75rem;line-height:1.2;margin:.2rem 0 .4rem;letter-spacing:-.01em}
h2{font-size:1.2rem;margin:2.4rem 0 .6rem}
h3{font-size:1rem;margin:1.2rem 0 .2rem}
p{margin:.5rem 0;max-width:50rem}
.lead{font-size:1.08rem}.soft{color:var(--soft)}.small{font-size:.88rem}
a{color:var(--link)}
code{font-family:ui-monospace,'SFMono-Regular',Menlo,'DejaVu Sans Mono',monospace;font-size:.9em;
background:var(--panel);padding:.1em .3em;border-radius:4px;overflow-wrap:anywhere}
.scroll{overflow-x:auto;-webkit-overflow-scrolling:touch}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.93rem}
th,td{padding:.34rem .8rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:.2rem}
thead th{color:var(--soft);font-weight:600;vertical-align:bottom}
tbody th{font-weight:600;text-align:left;padding-top:1rem}
.words td,.words th{text-align:left;white-space:normal}
.panels{display:grid;gap:.6rem 1rem;grid-template-columns:repeat(3,minmax(0,1fr))}
.panels.by-column{grid-auto-flow:column;grid-template-rows:auto auto}
.panels.two{grid-template-columns:repeat(2,minmax(0,1fr))}
.panels svg,.wide svg{width:100%;height:auto;display:block}
figure{margin:0}figcaption{color:var(--soft);font-size:.88rem;margin-top:.4rem;max-width:50rem}
.legend{display:flex;flex-wrap:wrap;gap:.3rem 1.4rem;margin:.6rem 0;padding:0;list-style:none;font-size:.93rem}
.legend svg{width:34px;height:12px;vertical-align:-1px;margin-right:.45rem;overflow:visible}
.heat{width:100%;height:auto;aspect-ratio:1;image-rendering:pixelated;border:1px solid var(--line);
border-radius:4px;background:var(--paper);display:block}
.heat-three{max-width:60rem}
.scale{color:var(--soft);font-size:.88rem}.scale img{width:9rem;height:.7rem;border:1px solid var(--line);
vertical-align:middle;margin:0 .3rem}
.provenance{margin:.6rem 0;max-width:50rem}.provenance summary{cursor:pointer;color:var(--soft)}
.provenance td:first-child{white-space:nowrap}
.contents{font-size:.93rem}.contents ul{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;margin:.8rem 0;padding:0;list-style:none}
.heat-wide .heat{aspect-ratio:auto;height:18rem}
.badge{display:inline-block;padding:.08rem .6rem;border-radius:1rem;font-size:.85rem;font-weight:600;
white-space:nowrap;background:var(--panel);color:var(--soft)}
.badge.good{background:var(--good-back);color:var(--good)}
.badge.bad{background:var(--bad-back);color:var(--bad)}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(7.4rem,1fr));gap:.7rem;margin:1.2rem 0;padding:0}
.facts div{background:var(--panel);border-radius:8px;padding:.6rem .85rem}
.facts.three{grid-template-columns:repeat(auto-fit,minmax(15rem,1fr))}
.facts dt{color:var(--soft);font-size:.82rem}.facts dd{margin:0;font-size:1.15rem;font-weight:600}
.facts dd.second{font-size:.95rem;font-weight:400;color:var(--soft)}
.source{border-top:1px solid var(--line);padding-top:.8rem;margin-top:1.6rem}
.source h3{font-size:1.05rem;margin:.2rem 0}.source .badge{margin-left:.5rem}
.panels .span2{grid-column:span 2}
.topography{max-width:13.5rem;margin:0 auto}.topography image{image-rendering:auto}
.topography~.topography-bar{display:block;max-width:13.5rem;margin:.1rem auto 0}
figure>.topography{display:block}figure>.topography~figcaption{text-align:center;margin:.1rem auto 0}
.grid-of-maps{display:grid;grid-template-columns:repeat(auto-fill,minmax(7.2rem,1fr));gap:.7rem;font-size:.82rem}
.grid-of-maps a{display:block;text-align:center;text-decoration:none;color:var(--ink);border-radius:8px;padding:.35rem .2rem;
border:1px solid transparent;break-inside:avoid}
.grid-of-maps a.flagged{border-color:var(--bad)}.grid-of-maps .badge{font-size:.74rem;padding:.02rem .4rem}
.grid-of-maps .topography{display:block;max-width:6.4rem}
.claim{border-left:3px solid var(--line);padding:.1rem 0 .1rem 1rem;margin:1rem 0}
.claim p{margin:.25rem 0}
.warning{background:var(--bad-back);color:var(--bad);border-radius:8px;padding:.6rem .9rem;margin:.6rem 0;max-width:50rem}
footer{margin-top:3rem;color:var(--soft);font-size:.88rem;border-top:1px solid var(--line);padding-top:.8rem}
@media (max-width:760px){.panels,.panels.by-column,.panels.two{grid-template-columns:minmax(0,1fr);
grid-auto-flow:row;grid-template-rows:none}.panels .span2{grid-column:auto}h1{font-size:1.4rem}th,td{padding:.3rem .5rem}}
@media print{.scroll{overflow:visible}}
";

const DARK_CSS: &str = "\
:root{--ink:#e7eaf0;--soft:#a2abb8;--paper:#14171c;--panel:#1e232b;--line:#2e3540;--good:#6fdca5;
--good-back:#12321f;--bad:#f5b27a;--bad-back:#3a2412;--link:#56b4e9}
";

/// Content security policy: no scripts, no external resources.
pub const CONTENT_SECURITY_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// Returns the style sheet of a report and its figures.
pub fn style_sheet() -> String {
    format!(
        "\n{CSS}{STYLE}@media (prefers-color-scheme: dark) {{\n{DARK_CSS}{DARK_STYLE}}}\n\
         .soft{{color:var(--soft)}}\n"
    )
}
