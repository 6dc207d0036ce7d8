"""Check the site that `make docs` has built: links, external resources, and pages in a browser.

    python docs/site/check.py target/site [--pictures FOLDER]

All links within the site must have a target, including anchors, and no page may load anything from
a network. Some pages are then opened in Chromium, light and dark, narrow and wide. This part is
skipped with a message if Chromium is not available (cli/tests/install-browser.sh installs it). With
--pictures, screenshots are saved.
"""
# ruff: noqa: E501

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# One of each kind.
PAGES = [
    "index.html",
    "site/get-started.html",
    "site/first-steps.html",
    "site/command-line.html",
    "site/interfaces.html",
    "site/reproduction.html",
    "separate-sources.html",
    "which-method.html",
    "coming-from.html",
    "site/reference.html",
    "site/generated/codiag.diagonalize.html",
    "site/generated/codiag.SourceSeparation.html",
    "gallery/index.html",
    "gallery/separate_hearts.html",
    "gallery/separate_meg.html",
    "site/changelog.html",
]
# Elements that a browser loads by itself, and the attributes with their addresses.
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src"}
LOADED_RELATIONS = {"stylesheet", "icon", "shortcut", "preload", "modulepreload", "manifest"}

PROBE = r"""<script>
addEventListener('load', () => setTimeout(() => {
  const color = (text) => text.match(/[\d.]+/g).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const c = color(getComputedStyle(element).backgroundColor);
      if (c.length < 4 || c[3] > 0.5) return light(c);
    }
    return 1;
  };
  const contrast = (element) => {
    const ink = light(color(getComputedStyle(element).color)), back = ground(element);
    return (Math.max(ink, back) + 0.05) / (Math.min(ink, back) + 0.05);
  };
  const seen = (e) => e.offsetParent !== null && e.innerText.trim() !== '';
  const words = [...document.querySelectorAll('article p, article h1, article h2, article td, article li, article dt')]
    .filter(seen);
  const palest = words.map((e) => [contrast(e), e.innerText.slice(0, 40)]).sort((x, y) => x[0] - y[0])[0];
  const images = [...document.querySelectorAll('article img')];
  images.forEach((i) => i.loading = 'eager');
  parent.postMessage(JSON.stringify({
    width: innerWidth,
    overflow: document.documentElement.scrollWidth - innerWidth,
    background: ground(document.body),
    words: words.length,
    contrast: palest[0],
    palest: palest[1],
    broken: images.filter((i) => i.complete && i.naturalWidth === 0).map((i) => i.src),
    unnamed: images.filter((i) => !i.hasAttribute('alt')).map((i) => i.src),
    fetched: performance.getEntriesByType('resource').map((e) => e.name).filter((n) => /^(https?|wss?):/.test(n)),
  }), '*');
}, 300));
</script>"""
FRAME = """<!DOCTYPE html><title>frame</title><link rel="icon" href="data:,"><pre id="probe"></pre><script>
addEventListener('message', (e) => { document.getElementById('probe').textContent = e.data; });
</script><iframe src="PAGE" style="border:0;height:900px;width:WIDTHpx"></iframe>"""


class Page(HTMLParser):
    """The links, loaded resources and anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Collect addresses and anchors."""
        attributes = dict(attrs)
        for name in ("id", "name"):
            if attributes.get(name):
                self.anchors.add(attributes[name])
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        if tag == "link" and LOADED_RELATIONS & set((attributes.get("rel") or "").split()):
            self.loads.append(attributes.get("href") or "")
        if tag in LOADED and attributes.get(LOADED[tag]):
            self.loads.append(attributes[LOADED[tag]])


def is_remote(address):
    """Return whether an address is on a network."""
    return bool(urlsplit(address).netloc) and not address.startswith("data:")


def check_links(site):
    """Return problems with the addresses of all pages except those of rustdoc."""
    # _static contains templates of the theme.
    others = {"rust", "_static"}
    own = [p for p in sorted(site.rglob("*.html")) if p.relative_to(site).parts[0] not in others]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in own}
    problems = []
    count = 0
    for path, page in pages.items():
        name = path.relative_to(site)
        problems += [f"{name} loads {a} from a network" for a in page.loads if is_remote(a)]
        for address in page.links + page.loads:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                problems.append(f"{name} links to {address}, which does not exist")
            elif parts.fragment and target in pages:
                if unquote(parts.fragment) not in pages[target].anchors:
                    problems.append(f"{name} links to {address}, whose anchor does not exist")
    for style in sorted(site.rglob("*.css")):
        text = style.read_text(encoding="utf-8")
        for address in re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]+)", text):
            problems.append(f"{style.relative_to(site)} loads {address} from a network")
    print(f"{len(pages)} pages, {count} links within the site")
    return problems


def browser():
    """Return the name of the browser, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((name for name in names if shutil.which(name)), None)


def chromium(name, profile, dark, *arguments):
    """Run the browser without a window; return its output and its log."""
    command = [name, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += ["--no-first-run", "--disable-background-networking", "--disable-extensions"]
    command += ["--disable-dev-shm-usage", "--enable-logging=stderr", "--v=0"]
    # Pages are files that load other files.
    command += ["--allow-file-access-from-files", f"--user-data-dir={profile}"]
    if dark:
        command += ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=180)
    return done.stdout, done.stderr


def look(name, page, width, dark):
    """Open a copy of a page with the probe script, and return its findings."""
    text = page.read_text(encoding="utf-8")
    probed = page.with_name(f"probed-{page.name}")
    frame = page.with_name(f"frame-{page.name}")
    try:
        probed.write_text(text.replace("</body>", PROBE + "</body>"), encoding="utf-8")
        frame.write_text(
            FRAME.replace("PAGE", probed.name).replace("WIDTH", str(width)), encoding="utf-8"
        )
        with tempfile.TemporaryDirectory() as profile:
            size = ("--window-size=1500,1000", "--virtual-time-budget=6000", "--dump-dom")
            dom, log = chromium(name, profile, dark, *size, frame.as_uri())
    finally:
        probed.unlink(missing_ok=True)
        frame.unlink(missing_ok=True)
    said = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.DOTALL)
    if not said or not said.group(1):
        return None, log
    return json.loads(unescape(said.group(1))), log


def check_page(name, page, width, dark):
    """Return the problems of a page in the browser."""
    found, log = look(name, page, width, dark)
    if found is None:
        return [f"the page did not open: {log[-400:]}"]
    problems = [line for line in log.splitlines() if "CONSOLE" in line and "ERROR" in line]
    if found["width"] != width:
        problems.append(f"{found['width']} pixels wide")
    if found["overflow"] > 0:
        problems.append(f"{found['overflow']} pixels wider than its window")
    if found["words"] < 3:
        problems.append("almost no text")
    if found["contrast"] < 4.5:
        problems.append(f"insufficient contrast: {found['palest']!r} ({found['contrast']:.1f})")
    if (found["background"] < 0.1) != dark:
        problems.append("not in the requested color scheme")
    for what in ("broken", "unnamed", "fetched"):
        problems += [f"{what}: {address}" for address in found[what]]
    return problems


def main():
    """Run all checks; the exit code is 1 if there are problems."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--pictures", type=Path)
    options = parser.parse_args()
    site = options.site.resolve()
    problems = check_links(site)
    missing = [page for page in PAGES if not (site / page).exists()]
    problems += [f"{page} does not exist" for page in missing]
    name = browser()
    if name is None:
        print("pages not opened: Chromium is not available; see cli/tests/install-browser.sh")
    looked = [page for page in PAGES if page not in missing] if name else []
    for page in looked:
        for width, dark in [(1400, False), (1400, True), (400, False), (400, True)]:
            seen = f"{page}, {width} pixels, {'dark' if dark else 'light'}"
            problems += [f"{seen}: {p}" for p in check_page(name, site / page, width, dark)]
            if options.pictures:
                options.pictures.mkdir(parents=True, exist_ok=True)
                file = f"{page[:-5].replace('/', '-')}-{width}-{'dark' if dark else 'light'}.png"
                with tempfile.TemporaryDirectory() as profile:
                    picture = f"--screenshot={(options.pictures / file).resolve()}"
                    size = f"--window-size={max(width, 500)},1400"
                    chromium(name, profile, dark, size, picture, (site / page).as_uri())
    if looked:
        print(f"{len(looked)} pages checked in a browser, four ways each")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
