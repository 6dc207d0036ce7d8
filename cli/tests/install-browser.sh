#!/bin/sh
# Installs Chromium for the browser tests on Debian-based systems, as root. On other systems it
# prints a message, and the tests are skipped.
set -u
for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium; } \
        >/dev/null 2>&1 && exit 0
fi
echo "Chromium is missing and cannot be installed; the browser tests will be skipped" >&2
exit 0
