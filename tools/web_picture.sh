#!/bin/bash
# Draws docs/img/web.png: the page of make web, as headless Chromium shows it after the same frames each time.
# Usage: tools/web_picture.sh [FOLDER]    where kolk.html is (default: build/web)
set -euo pipefail
page=$(realpath "${1:-build/web}/kolk.html")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/draw.js" << 'END'
const {open} = require(process.argv[2]);
(async () => {
  const [folder, page] = process.argv.slice(3), width = 1080;
  const browser = await open(process.env.BROWSER || 'chromium', folder + '/profile');
  const look = await browser.page('file://' + page, width, 900, {dark: true, still: true}); // still: it waits after a few frames
  await look.run(`byId('oldest').click(); pass(1562); c.take_newest(); pass(14)`);
  const height = await look.run('document.body.scrollHeight');
  await look.tell('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
  await look.run('new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))');
  await look.picture(folder + '/web.png');
  await browser.close();
})();
END
timeout 120 node "$folder/draw.js" "$(realpath tools/browser.js)" "$folder" "$page"
pngquant --force --strip --speed 1 --output docs/img/web.png 200 "$folder/web.png"
