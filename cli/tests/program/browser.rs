//! The reports in a headless browser: wide and narrow windows, light and dark mode.
//!
//! The tests are skipped, with a message, if Chromium is missing; `tests/install-browser.sh`
//! installs it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::TestDir;

/// Time limit for opening a page.
const TIMEOUT: Duration = Duration::from_secs(250);

/// Script that measures the page and sends the result to the frame. It is added to a copy of the
/// page.
const PROBE: &str = r"<script>
addEventListener('load', () => {
  const color = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);
  const light = (c) => c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const back = light(color(getComputedStyle(document.body).backgroundColor));
  const contrast = (element) => {
    const style = getComputedStyle(element);
    const svg = element instanceof SVGElement;
    const ink = light(color(svg ? style.fill : style.color));
    return (Math.max(ink, back) + 0.05) / (Math.min(ink, back) + 0.05);
  };
  const paint = [...document.querySelectorAll('p:not(.warning), h1, h2, td, figcaption, footer, svg text')];
  const charts = [...document.querySelectorAll('main svg[role=img]')];
  const broken = [...document.querySelectorAll('.series .curve')].filter((c) => /NaN|inf/i.test(c.getAttribute('d')));
  parent.postMessage(JSON.stringify({
    width: innerWidth,
    overflow: document.documentElement.scrollWidth - innerWidth,
    background: back,
    contrast: Math.min(...paint.map(contrast)),
    charts: charts.length,
    curves: document.querySelectorAll('.series').length,
    broken: broken.length,
    narrowest: Math.min(...charts.map((c) => c.getBoundingClientRect().width)),
    named: charts.every((c) => c.getAttribute('aria-label')),
    pictures: [...document.images].every((i) => i.complete && i.naturalWidth > 0 && i.alt),
    fetched: performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith('data:')),
  }), '*');
});
</script>";

/// Page with a frame around the report, because frames can be narrower than the minimum width of a
/// window.
const FRAME: &str = r#"<!DOCTYPE html><title>frame</title><link rel="icon" href="data:,">
<pre id="probe"></pre><script>
addEventListener('message', (event) => { document.getElementById('probe').textContent = event.data; });
</script><iframe src="page.html" style="border:0;height:900px;width:WIDTHpx"></iframe>"#;

fn browser() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| {
            let found = Command::new(name)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            found.is_ok_and(|status| status.success())
        })
}

/// Opens a copy of the page with the probe and returns its measurements.
fn measure(browser: &str, page: &Path, width: u32, dark: bool) -> Value {
    let dir = TestDir::new();
    let html = std::fs::read_to_string(page).unwrap();
    let policy = "style-src 'unsafe-inline'";
    assert!(html.contains(policy) && !html.contains("<script"));
    let probed = html
        .replace(
            policy,
            "script-src 'unsafe-inline'; style-src 'unsafe-inline'",
        )
        .replace("</body>", &format!("{PROBE}</body>"));
    dir.write("page.html", probed);
    dir.write("frame.html", FRAME.replace("WIDTH", &width.to_string()));
    let mut command = Command::new(browser);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args([
            "--no-first-run",
            "--disable-background-networking",
            "--disable-extensions",
        ])
        .args([
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
            "--v=0",
        ])
        .arg(format!("--user-data-dir={}", dir.path("profile").display()))
        .arg("--window-size=1400,1000")
        .arg("--virtual-time-budget=3000");
    if dark {
        command.args([
            "--force-dark-mode",
            "--blink-settings=preferredColorScheme=0",
        ]);
    }
    // Write to files, because a full pipe would block the browser.
    let file = |name: &str| std::fs::File::create(dir.path(name)).unwrap();
    let mut child = command
        .arg("--dump-dom")
        .arg(format!("file://{}", dir.path("frame.html").display()))
        .stdin(Stdio::null())
        .stdout(file("dom"))
        .stderr(file("log"))
        .spawn()
        .unwrap();
    let clock = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if clock.elapsed() > TIMEOUT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the browser did not open {} in time", page.display());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let log = String::from_utf8_lossy(&std::fs::read(dir.path("log")).unwrap()).into_owned();
    let console: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect();
    assert!(console.is_empty(), "console messages: {console:?}");
    let dom = std::fs::read_to_string(dir.path("dom")).unwrap();
    let (_, rest) = dom
        .split_once("<pre id=\"probe\">")
        .unwrap_or_else(|| panic!("the page did not load: {log}"));
    let text = rest
        .split_once("</pre>")
        .unwrap()
        .0
        .replace("&lt;", "<")
        .replace("&amp;", "&");
    serde_json::from_str(&text).unwrap()
}

/// Checks a page in two widths and both color schemes.
fn inspect(page: &Path) {
    let Some(browser) = browser() else {
        let page = page.display();
        crate::skip(&format!(
            "no Chromium here to open {page}; see cli/tests/install-browser.sh"
        ));
        return;
    };
    for (width, dark) in [(1280, false), (1280, true), (380, false), (380, true)] {
        let found = measure(browser, page, width, dark);
        let number = |name: &str| found[name].as_f64().unwrap();
        assert_eq!(found["width"], width, "{found}");
        assert!(number("overflow") <= 0.0, "wider than its window: {found}");
        assert!(number("charts") > 0.0 && number("curves") > 0.0, "{found}");
        assert_eq!(found["broken"], 0, "{found}");
        assert_eq!(found["named"], true, "{found}");
        assert_eq!(found["pictures"], true, "{found}");
        assert_eq!(found["fetched"].as_array().unwrap().len(), 0, "{found}");
        assert!(number("narrowest") >= 300.0, "too small to read: {found}");
        assert!(number("contrast") >= 4.5, "too pale to read: {found}");
        assert_eq!(number("background") < 0.05, dark, "{found}");
    }
}

#[test]
fn report_of_reproduce_is_displayed() {
    inspect(&crate::reproduce::shared().path("r/report.html"));
}

#[test]
fn report_of_diagonalize_is_displayed() {
    let dir = TestDir::with_set();
    dir.codiag("diagonalize covs.npy --n-restarts 2 -o r")
        .assert()
        .success();
    inspect(&dir.path("r/report.html"));
}

#[test]
fn report_of_separate_is_displayed() {
    let dir = TestDir::new();
    let generated = codiag::signals::simulate::eeg_with_blinks(8, 4, 40.0, 1);
    let shape = format!("(8, {})", generated.samples);
    dir.write("recording.npy", crate::Array::of(&shape, &generated.data));
    for (folder, options) in [("r", "--exclude 0"), ("s", "--sobi"), ("j", "--jade")] {
        dir.codiag(&format!(
            "separate recording.npy --sfreq 250 --n-components 4 {options} -o {folder}"
        ))
        .assert()
        .success();
        inspect(&dir.path(&format!("{folder}/report.html")));
    }
}
