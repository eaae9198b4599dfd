// Starts a headless Chromium and speaks to it through two pipes, in the DevTools protocol: no port, no library.
'use strict';
const {spawn} = require('child_process');
const fs = require('fs');

// Resolves to a browser. `folder` is for its profile.
exports.open = async (path, folder) => {
  const options = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--remote-debugging-pipe',
    '--disable-background-networking', '--user-data-dir=' + folder];
  const log = fs.openSync(folder + '.log', 'w');
  const child = spawn(path, options, {stdio: ['ignore', log, log, 'pipe', 'pipe']});
  const waiting = new Map(), listeners = [];
  let last = 0, rest = Buffer.alloc(0);

  child.stdio[4].on('data', data => {
    rest = Buffer.concat([rest, data]);
    for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1)) {
      const message = JSON.parse(rest.subarray(0, end).toString());
      if (!message.id) listeners.forEach(listener => listener(message));
      else if (message.error) waiting.get(message.id).reject(new Error(message.error.message));
      else waiting.get(message.id).resolve(message.result);
    }
  });
  child.on('exit', () => waiting.forEach(({reject}) => reject(new Error('the browser has ended'))));

  const send = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
    waiting.set(++last, {resolve, reject});
    child.stdio[3].write(JSON.stringify({id: last, method, params, sessionId}) + '\0');
  });

  // Opens a page at this address, of this size, and in this look: {dark, still}. Resolves to what a test does with it.
  const page = async (url, width, height, {dark, still, scale = 1}) => {
    const {targetId} = await send('Target.createTarget', {url: 'about:blank'});
    const {sessionId} = await send('Target.attachToTarget', {targetId, flatten: true});
    const tell = (method, params) => send(method, params, sessionId);
    const problems = [], requests = [];
    const loaded = new Promise(resolve => listeners.push(message => {
      if (message.sessionId !== sessionId) return;
      const {method, params} = message;
      if (method === 'Page.loadEventFired') resolve();
      if (method === 'Runtime.consoleAPICalled') problems.push('the console: ' + JSON.stringify(params.args));
      if (method === 'Runtime.exceptionThrown') problems.push('an exception: ' + JSON.stringify(params.exceptionDetails));
      if (method === 'Log.entryAdded') problems.push('the log: ' + params.entry.text);
      if (method === 'Network.requestWillBeSent') requests.push(params.request.url);
    }));
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await tell(domain + '.enable');
    await tell('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: scale, mobile: false});
    await tell('Emulation.setEmulatedMedia', {features: [
      {name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}, {name: 'prefers-reduced-motion', value: still ? 'reduce' : 'no-preference'}]});
    await tell('Page.bringToFront'); // a page behind another one gets no frames
    await tell('Page.navigate', {url});
    await loaded;
    const run = async expression => {
      const {result, exceptionDetails} = await tell('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
      if (exceptionDetails) throw new Error(exceptionDetails.exception.description);
      return result.value;
    };
    const mouse = async (x, y) => {
      for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased'])
        await tell('Input.dispatchMouseEvent', {type, x, y, button: type === 'mouseMoved' ? 'none' : 'left', clickCount: 1});
    };
    const key = async (name, code = name, text) => {
      const keyCode = {Tab: 9, Enter: 13, ' ': 32, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Home: 36, End: 35}[name];
      await tell('Input.dispatchKeyEvent', {type: text ? 'keyDown' : 'rawKeyDown', key: name, code, text, windowsVirtualKeyCode: keyCode});
      await tell('Input.dispatchKeyEvent', {type: 'keyUp', key: name, code, windowsVirtualKeyCode: keyCode});
    };
    const picture = async file => {
      const {data} = await tell('Page.captureScreenshot', {format: 'png', captureBeyondViewport: true});
      fs.writeFileSync(file, Buffer.from(data, 'base64'));
    };
    return {run, mouse, key, picture, problems, requests, tell, close: () => send('Target.closeTarget', {targetId})};
  };
  const close = async () => {
    const ended = new Promise(resolve => child.on('exit', resolve));
    await send('Browser.close').catch(() => {});
    await ended;
  };
  return {page, close};
};
