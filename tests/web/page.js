// Plays the game of make web, as people do, and clicks the small pools below it.
'use strict';
const {check, checkLook, run} = require('../help/pages.js');

// What a test sees and does in a page: texts of elements, clicks, keys that are held.
function use(page) {
  const text = id => page.run(`byId('${id}').textContent`);
  const until = async expression => { // polls; the test as a whole has a limit
    while (!await page.run(expression)) await new Promise(resolve => setTimeout(resolve, 20));
  };
  const middle = node => page.run(`(() => { const it = ${node}; it.scrollIntoView({block: 'nearest'});
    const {left, top, width, height} = it.getBoundingClientRect(); return [left + width / 2, top + height / 2]; })()`);
  const click = async node => page.mouse(...await middle(node));
  const down = (key, code = key) => page.tell('Input.dispatchKeyEvent', {type: 'rawKeyDown', key, code});
  const up = (key, code = key) => page.tell('Input.dispatchKeyEvent', {type: 'keyUp', key, code});
  return {text, until, middle, click, down, up};
}

// The game without pools: what a rewind must bring back.
const state = `(() => { const now = read(), rows = floats(c.things(), now.things * ROW);
  return JSON.stringify([now.frame, now.score, now.ships, now.x, now.y, ...rows]); })()`;
const cells = n => `String(new Uint8Array(c.memory.buffer, c.cells(${n}), shown.pools[${n}].capacity))`;
const live = n => `String([...new Uint8Array(c.memory.buffer, c.cells(${n}), 24)].map(byte => (byte & 7) >= LIVE))`;
const picture = n => `strips[${n}].canvas.toDataURL()`;

// Arrows, Space and R; every strip shows what happens.
async function testPlay(page) {
  const {text, until, down, up} = use(page);
  check('the autopilot plays at first', await page.run('plays && shown.playsItself === 1') && (await text('banner')).startsWith('The autopilot'));
  await down('ArrowDown');
  check('an arrow: a new game, for a player', await page.run('shown.playsItself === 0 && keys === DOWN') && await text('banner') === '');
  const y = await page.run('shown.y');
  await until(`shown.y > ${y} + 10`);
  await up('ArrowDown');
  const before = await page.run(`[${picture(0)}, ${cells(0)}, shown.lives]`);
  await down(' ', 'Space');
  await until('shown.pools[FIRED].count >= 3');
  check('Space fires bullets', await page.run(`shown.lives >= ${before[2]} + 3`));
  check('their strip changes', await page.run(`${picture(0)} !== '${before[0]}' && ${cells(0)} !== '${before[1]}'`));
  await until(`[...new Uint8Array(c.memory.buffer, c.cells(0), 8)].some(byte => (byte & 7) === EMPTY)`); // a bullet has flown out
  await up(' ', 'Space');

  const frame = await page.run('shown.frame');
  await down('r', 'KeyR');
  await until(`shown.frame < ${frame} - 6`);
  check('R goes back', (await text('banner')).startsWith('Back in time') && await page.run('shown.rewinds > 0'));
  await up('r', 'KeyR');
  const back = await page.run('shown.frame');
  await until(`shown.frame > ${back} + 3`);
  check('and lets go', await page.run('keys === 0 && shown.playsItself === 0'));
}

// A moment is restored as it was: score, positions, pools, and what follows from the same keys.
async function testRewind(page) {
  const {text, down, up} = use(page);
  const aim = `(() => { const rows = floats(c.things(), shown.things * ROW);
    for (let at = 0; at < rows.length; at += ROW)
      if (rows[at] === ROCK && rows[at + 1] > shown.x + 20) return FIRE | (rows[at + 2] < shown.y ? UP : DOWN);
    return FIRE; })()`;
  const played = (most, until) => page.run(`(() => {
    for (let n = 0; n < ${most} && !(${until}); n++) step(1, ${aim});
    draw();
    return ${until}; })()`);
  await page.run(`play(false), begin(false);
    window.step = (frames, keys) => { c.step(frames, keys, 0, 0, 400); shown = read(); }; // without a picture`);
  check('a rock is shot', await played(3000, 'shown.score > 0 && shown.frame % 3 === 0'));
  const [then, score, shots] = await page.run(`[${state}, shown.score, ${live(0)}]`);
  check('the score is shown', +(await text('score')).replace(',', '') === score);
  check('more rocks are shot', await played(500, `shown.score >= ${score} + 30 && shown.frame % 3 === 0`));
  const later = await page.run(`[${state}, shown.frame, shown.lives]`);
  await page.run(`while (shown.frame > ${JSON.parse(then)[0]}) step(1, REWIND)`);
  check('a rewind restores score, positions and all things', await page.run(state) === then && await page.run(live(0)) === shots);
  check('lives are still counted', await page.run(`shown.lives === ${later[2]}`));
  await played(1500, `shown.frame === ${later[1]}`);
  check('the same keys give the same game', await page.run(state) === later[0]);
  await page.run('step(400, REWIND)');
  check('the ring ends at its oldest moment', await page.run('shown.kept === 1 && shown.mistakes === 0'));

  const end = 'for (let n = 0; n < 2000 && shown.over < 50; n++) step(10, 0); plays = true, draw(), plays = false';
  await page.run(end);
  check('the game ends', (await text('banner')).startsWith('No ship is left') && await text('ships') === '0');
  await page.run('step(1, REWIND)');
  check('a rewind goes on with it', await page.run('shown.over === 0 && shown.ships === 1'));
  await page.run(end);
  await down(' ', 'Space');
  check('Space begins a new one', await page.run('plays && shown.over === 0 && shown.ships === 3'));
  await up(' ', 'Space');
}

// The game plays itself: every pool is valid after each frame, and keeps what it promises.
async function testSoak(page) {
  const {text, until, click} = use(page);
  await click(`byId('demo')`);
  const before = await page.run('shown.checks');
  await until(`shown.checks > ${before} + 30`);
  check('it plays on its own', await page.run('plays && shown.playsItself === 1'));
  await page.run('play(false); for (let n = 0; n < 20; n++) c.step(1000, 0, 0, 0, 400), readClassics(); draw()');
  const now = await page.run('shown'), [fired, , lit, mixed] = now.pools;
  check('20,000 frames, no mistake', now.checks > before + 20000 && now.mistakes === 0 && await text('mistakes') === '0');
  check('lives so far: ' + now.lives, now.lives > 20000 && await text('lives') === await page.run('count(shown.lives)'));
  check('the autopilot rewinds too', now.rewinds > 30);
  check('sparks were refused', lit.failed > 100 && lit.peak === lit.capacity);
  check('no part of the boss was: ' + now.bossParts, now.bossParts > 20 && now.refusedBoss === 0);
  check('no bullet is left behind', fired.peak <= fired.capacity && fired.count < 30);
  check('voices were stolen: ' + mixed.evictions, mixed.evictions > 100 && mixed.failed === 0);
  check('their number is shown', (await text('voices')).endsWith('stolen ' + mixed.evictions.toLocaleString('en-US')));
  check('rocks are packed', await page.run(`(() => { const now = read(), bytes = new Uint8Array(c.memory.buffer, c.cells(BELT), 24);
    return bytes.every((byte, n) => (byte & 7) >= LIVE === n < now.pools[BELT].count); })()`));
  check('five free slots are reserved, the last ones', await page.run(`(() => { begin(true);
    return [...new Uint8Array(c.memory.buffer, c.cells(LIT), 96)].map(byte => byte & 7).lastIndexOf(RESERVED, 90) === -1 &&
      [...new Uint8Array(c.memory.buffer, c.cells(LIT), 96)].slice(91).every(byte => (byte & 7) === RESERVED); })()`));
  await page.run('begin(false); idle = IDLE + 1; pass(1)');
  check('nobody plays: the autopilot does', await page.run('shown.playsItself === 1'));
}

// Sound is off until it is asked for. A stolen voice falls silent, and its slot plays another sound.
async function testSound(page) {
  const {text, click} = use(page);
  check('sound is off', await page.run('audio === null') && await text('sound') === 'Sound: off');
  await page.run(`window.stops = 0; const {stop} = OscillatorNode.prototype;
    OscillatorNode.prototype.stop = function () { stops++; stop.call(this); }`);
  await click(`byId('sound')`);
  check('on', await page.run(`audio.state !== 'closed' && byId('sound').getAttribute('aria-pressed') === 'true'`));
  const heard = await page.run(`(() => {
    play(false), begin(true);
    plays = true; // but no frame passes except these
    const isStolen = () => [...new Uint8Array(c.memory.buffer, c.cells(MIXED), 6)].findIndex(byte => (byte & 7) === STOLEN);
    let was, slot = -1, silenced = 0;
    for (let n = 0; n < 1000 && slot < 0; n++) was = [...playing], silenced = stops, step(1, 0), sound(), slot = isStolen();
    plays = false;
    return slot >= 0 && stops > silenced && was[slot].source !== playing[slot].source && playing[slot].life === words(c.sounds(), 12)[2 * slot]; })()`);
  check('a theft is heard', heard);
  await page.run('draw()');
  check('a pause is silent', await page.run('playing.every(voice => !voice.source)'));
  await click(`byId('sound')`);
  check('off', await page.run('audio === null') && await text('sound') === 'Sound: off');
}

// The mouse steers and fires; a button goes back as long as it is held.
async function testMouse(page) {
  const {until, middle} = use(page);
  const mouse = (type, [x, y]) => page.tell('Input.dispatchMouseEvent', {type, x, y, button: 'left', clickCount: 1});
  await page.run('begin(true), play(true)');
  const sky = await middle(`byId('sky')`);
  await mouse('mousePressed', sky);
  check('a press in the sky plays', await page.run('shown.playsItself === 0 && keys === (POINT | FIRE)'));
  await until('shown.pools[FIRED].count > 0 && Math.abs(shown.x - point.x) < 3');
  await mouse('mouseReleased', sky);
  check('until it ends', await page.run('keys === 0'));
  const button = await middle(`byId('rewind')`), frame = await page.run('shown.frame');
  await mouse('mousePressed', button);
  await until(`shown.frame < ${frame} - 6`);
  await mouse('mouseReleased', button);
  check('the button rewinds', await page.run('keys === 0 && shown.playsItself === 0'));
  await page.run('play(false)');
}

// The small pools: each click is a call of kolk.
async function testClassics(page) {
  const {click} = use(page);
  const card = n => `byId('classics').children[${n}]`;
  const cell = (n, slot) => `${card(n)}.querySelectorAll('.cells > *')[${slot}]`;
  const press = (n, name) => click(`[...${card(n)}.querySelectorAll('.row button')].find(it => it.textContent === '${name}')`);
  const strip = n => page.run(`[...${card(n)}.querySelector('.cells').children].map(it => it.textContent).join(' ')`);
  const said = n => page.run(`${card(n)}.querySelector('[role=status]').textContent`);
  const figures = n => page.run(`${card(n)}.querySelector('.figures').textContent`);

  check('Bitpool', await strip(0) === '0 0 0 0 0 0 0 0 0 0 1 1 1 1 1' && await figures(0) === '5 of 15 available');
  await click(cell(0, 2));
  await click(cell(0, 7));
  check('objects are returned', await strip(0) === '0 0 1 0 0 0 0 1 0 0 1 1 1 1 1' && await figures(0) === '7 of 15 available');
  await click(cell(0, 14));
  check('the lowest comes first: ' + await said(0), await said(0) === 'GetObject: slot 2');
  for (let n = 0; n < 7; n++) await press(0, 'GetObject');
  check('and then none', await said(0) === 'GetObject: NULL, the pool is full' && await figures(0) === '0 of 15 available');

  check('holes', await strip(1) === '1 1 1 – – – 1 1 – 1 – –' && await page.run(`${cell(1, 3)}.className`) === 'next');
  const added = [];
  for (let n = 0; n < 4; n++) await press(1, 'Add'), added.push(await said(1));
  check('3, 4, 5, 8', added.join(', ') === 'Add: slot 3, Add: slot 4, Add: slot 5, Add: slot 8');
  check('are filled from the lowest one on', await strip(1) === '1 1 1 2 2 2 1 1 2 1 – –');
  await click(cell(1, 0));
  check('a click makes one', await strip(1) === '– 1 1 2 2 2 1 1 2 1 – –' && await figures(1) === '9 of 12 alive');
  await click(cell(1, 11));
  check('which is the next one', await said(1) === 'Add: slot 0' && (await strip(1)).startsWith('2 '));

  const handles = () => page.run(`[...kept.children].map(it => it.textContent + (it.className ? '!' : '')).join(', ')`);
  check('handles', await handles() === '513 = 2 << 8 | 0x01, 257 = 1 << 8 | 0x01, 1 = 0 << 8 | 0x01');
  await click(cell(2, 1));
  check('a stale one is red', (await handles()).includes('257 = 1 << 8 | 0x01: stale!') && await strip(2) === '01 81 01 80 80 80 80 80' &&
    await page.run(`(([r, g, b]) => r > g + 80 && r > b + 80)(getComputedStyle(kept.querySelector('.stale')).color.match(/\\d+/g).map(Number))`));
  await click(cell(2, 1));
  check('the next seed: a new handle', (await handles()).startsWith('258 = 1 << 8 | 0x02, ') && (await handles()).includes('0x01: stale!'));
  await click(cell(2, 6));
  await press(2, 'New');
  check('there, and by the cursor', await said(2) === 'New: handle 1025 = 4 << 8 | 0x01' && await strip(2) === '01 02 01 80 01 80 01 80');

  for (let n = 1; n <= 6; n++) await press(3, 'Add');
  check('two producers are blocked', await strip(3) === 'adds 6 adds 5 → 4 3 2 1 →' && await said(3) === 'Add 6: blocked, the queue is full');
  await press(3, 'Remove');
  check('room for the first of them', await strip(3) === 'adds 6 → 5 4 3 2 →' && await said(3) === 'Remove: 1');
  await press(3, 'Shutdown');
  check('a shutdown ends the wait, items stay', await strip(3) === '→ 5 4 3 2 →' && await figures(3) === '4 of 4, shut down');
  await press(3, 'Remove');
  check('and every call', await said(3) === 'Remove: KOLK_SHUTDOWN');
  await press(3, 'Reopen');
  await press(3, 'Clear');
  check('Clear', await said(3) === 'Clear: 4 dropped' && await strip(3) === '→     →');
  await press(3, 'Remove');
  await press(3, 'Remove');
  check('two consumers are blocked', await strip(3) === '→     → removes removes' && await said(3) === 'Remove: blocked, the queue is empty');
  await press(3, 'Add');
  check('a number for the first of them', await strip(3) === '→     → removes' && await figures(3) === '0 of 4');
  check('no mistake', await page.run('read().mistakes === 0'));
}

// Without a mouse.
async function testKeys(page) {
  const active = () => page.run(`document.activeElement.id || document.activeElement.textContent`);
  const reached = [];
  for (let n = 0; n < 16; n++) {
    await page.key('Tab');
    reached.push(await active());
  }
  check('Tab reaches everything: ' + reached,
    reached.join(' ') === 'sky play demo rewind sound 0 GetObject 1 Add 01 New Add Remove Shutdown Reopen Clear');
  const ringed = await page.run(`getComputedStyle(document.activeElement).outlineStyle`);
  check('the focus is seen', ringed === 'solid');
  await page.run(`byId('play').focus()`);
  await page.key(' ', 'Space', ' ');
  check('Space on a button is the button\'s', await page.run('!plays && shown.playsItself === 1 && keys === 0'));
  await page.run(`byId('rewind').focus()`);
  const {down, up, until} = use(page), frame = await page.run('shown.frame');
  await down('Enter');
  await until(`shown.frame < ${frame} - 6`);
  await up('Enter');
  check('Rewind, as long as the key is held', await page.run('keys === 0'));
  await page.run(`play(false); bitpool.strip.firstChild.focus()`);
  for (let n = 0; n < 3; n++) await page.key('ArrowRight');
  await page.key('ArrowLeft');
  await page.key('Enter', 'Enter', '\r');
  check('arrows go from slot to slot', await page.run(`bitpool.strip.children[2].textContent === '1' && document.activeElement === bitpool.strip.children[2]`));
  check('and are not the ship\'s', await page.run('keys === 0 && !plays'));
  await page.run(`byId('sky').focus()`);
  await page.key('ArrowUp');
  check('in the sky they are', await page.run('plays && shown.playsItself === 0'));
}

async function testLook(page, look, name) {
  const {text} = use(page);
  if (look.still) {
    check(name + ': it rests', await text('play') === 'Play' && await page.run(`(async () => {
      const before = JSON.stringify(read());
      for (let n = 0; n < 10; n++) await new Promise(requestAnimationFrame);
      return !plays && JSON.stringify(read()) === before; })()`));
    check(name + ': there is a picture', await page.run('read().things > 3'));
    check(name + ': the autopilot waits for its button', await page.run('shown.playsItself === 0 && (idle = IDLE + 1, pass(1), shown.playsItself === 0)'));
    check(name + ': no cell flashes', await page.run(`(() => { begin(true), c.step(200, 0, 0, 0, 400), draw();
      const {canvas} = strips[LIT], {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const isWhite = (_, at) => at % 4 === 0 && data[at] + data[at + 1] + data[at + 2] === 765;
      return new Uint8Array(c.memory.buffer, c.cells(LIT), 96).some(byte => (byte & 7) === JUST) && !data.some(isWhite); })()`));
  } else {
    check(name + ': it moves', await page.run(`(async () => {
      const before = JSON.stringify(read());
      while (JSON.stringify(read()) === before) await new Promise(requestAnimationFrame);
      return plays; })()`));
  }
  const sizes = await page.run(`[byId('sky'), ...strips.map(it => it.canvas)].map(it => [it.clientWidth, it.clientHeight])`);
  check(name + ': the pictures have room: ' + sizes, sizes.every(([wide, high], n) => wide >= 280 && high >= (n ? 40 : 220)));
  await page.run('play(false)');
  await checkLook(page, look, name);
}

run(async visit => {
  await visit('kolk.html', 1280, 900, {}, async page => {
    await testPlay(page);
    await testRewind(page);
    await testSoak(page);
    await testSound(page);
    await testMouse(page);
    await testClassics(page);
  });
  await visit('kolk.html', 1280, 900, {}, testKeys);
  for (const [width, height, look] of [[1280, 900, {}], [1280, 900, {dark: true, still: true}], [360, 740, {still: true}]])
    await visit('kolk.html', width, height, look, page => testLook(page, look, `${width} ${look.dark ? 'dark' : 'light'}`));
});
