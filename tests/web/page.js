// Uses the page of make web as people do.
'use strict';
const {check, checkLook, run} = require('../help/pages.js');

// What a test sees and does in a page: texts of elements, clicks in their middle, frames that pass.
function use(page) {
  const text = id => page.run(`document.getElementById('${id}').textContent`);
  const number = async id => +(await text(id)).replace(/[^0-9]/g, '');
  const all = async ids => Object.fromEntries(await Promise.all(ids.map(async id => [id, await number(id)])));
  const click = async (id, x, y) => { // at x, y of the element, or in its middle
    const box = await page.run(`(() => { const it = document.getElementById('${id}'); it.scrollIntoView({block: 'nearest'});
      const {left, top, width, height} = it.getBoundingClientRect(); return {left, top, width, height}; })()`);
    await page.mouse(box.left + (x ?? box.width / 2), box.top + (y ?? box.height / 2));
  };
  const until = async expression => { // polls; the test as a whole has a limit
    while (!await page.run(expression)) await new Promise(resolve => setTimeout(resolve, 20));
  };
  const steps = (most, expression) => page.run(`(() => { // clicks Step until it holds
    for (let n = 0; n < ${most} && !(${expression}); n++) document.getElementById('step').click();
    return ${expression}; })()`);
  return {text, number, all, click, until, steps};
}

// Your sparkle: by the mouse in the sky and in the slots, until its handle is stale, and beyond.
async function testHandle(page) {
  const {text, click, until, steps} = use(page);
  await until('read().rows > 300');
  await click('play');
  check('Pause', await text('play') === 'Play' && await page.run('!plays'));
  await page.run('plays = true; tick(-1000); plays = false'); // hung once: a frame may be older than the click that started it
  await steps(200, 'read().waves === 1 && read().rows > 300');
  check('no sparkle is yours at first', (await text('handle')) === '' && (await text('after')).startsWith('Click a sparkle'));

  const spot = await page.run(`(() => { const rows = new Float32Array(c.memory.buffer, c.sky(), 5), half = byId('sky').clientHeight / 2;
    return {x: byId('sky').clientWidth / 2 + rows[0] * half, y: half - rows[1] * half}; })()`);
  await click('sky', spot.x, spot.y);
  const taken = await text('handle');
  check('a click in the sky takes a sparkle: ' + taken, /^handle \d+: slot \d+, generation \d+$/.test(taken));
  check('it is where the click was', await page.run(`(() => { const {x, y} = read(), half = byId('sky').clientHeight / 2;
    return Math.hypot(byId('sky').clientWidth / 2 + x * half - ${spot.x}, half - y * half - ${spot.y}) < 4; })()`));
  check('alive', (await text('state')).startsWith('alive') && await page.run('read().yours === ALIVE'));
  const [, bits, slot, generation] = taken.match(/(\d+): slot (\d+), generation (\d+)/);
  check('the generation is the upper half of the handle', BigInt(bits) >> 32n === BigInt(generation));

  check('it dies', await steps(60, `byId('state').className === 'stale'`));
  check('stale: get gives NULL', (await text('state')).includes('gives NULL') && (await text('handle')) === taken);
  check('the slot is used again', await steps(400, `byId('after').textContent.includes('has another sparkle now')`));
  const after = await text('after'), next = after.match(/generation (\d+)/);
  check('by a later generation: ' + after, next && +next[1] > +generation && after.startsWith(`Slot ${slot} `));
  check('the handle is still stale', (await text('state')).startsWith('stale') && (await text('handle')) === taken);

  const place = await page.run(`(() => { const memory = new Uint8Array(c.memory.buffer, c.slots(0)), slot = memory.findIndex((it, n) => it && n > 40);
    const {columns, size, top} = drawn[0]; return {slot, x: 4 + (slot % columns + .5) * size, y: top + (Math.floor(slot / columns) + .5) * size}; })()`);
  await click('slots', place.x, place.y);
  check('a click on a slot takes its sparkle', (await text('handle')).includes(`slot ${place.slot},`) && (await text('state')).startsWith('alive'));

  await click('take');
  const newest = await text('handle');
  await click('older');
  const older = await text('handle');
  await click('newer');
  check('older, and newer again', older !== newest && await text('handle') === newest);
  await click('free');
  check('a freed one is stale', (await text('state')).startsWith('stale') && (await text('handle')) === newest && await text('report') === '');
  await click('take');
  const twice = (await text('handle')).match(/slot (\d+)/)[1];
  await click('twice');
  check('kolk reports the second free', await text('report') === `kolk: sparkles: double free of slot ${twice}`);
  check('and nothing else has changed', (await text('state')).startsWith('stale') && await page.run('read().count > 200'));
}

// Each policy: what its numbers promise when far more sparkles are born than the pool has slots.
async function testPolicies(page) {
  const {text, number, all, click, steps} = use(page);
  const ids = ['alive', 'peak', 'slot-count', 'failed', 'evicted', 'overflowed'];
  const bursts = async n => { for (; n > 0; n--) await click('burst'); };
  await click('capacity', 2); // the lowest
  const least = await number('slot-count');
  check('the slider makes the pool smaller: ' + least, least === 64 && await number('alive') <= 64 && await text('capacity-text') === '64 slots');

  await bursts(2);
  let now = await all(ids);
  check('skip: ' + JSON.stringify(now), now.failed >= 336 && now.evicted === 0 && now.alive === 64 && now.peak === 64 && now['slot-count'] === 64);

  await click('oldest');
  await click('take');
  await bursts(1);
  now = await all(ids);
  check('evict the oldest: ' + JSON.stringify(now), now.failed === 0 && now.evicted >= 136 && now.alive === 64);
  check('among them the one that was the newest', (await text('state')).startsWith('stale'));

  const cost = `Array.from({length: read().rows}, (_, n) => new Float32Array(c.memory.buffer, c.sky() + 4 * ROW * n, 6))
    .reduce((sum, it) => sum + (1 + it[5]) * it[2], 0)`; // of all
  const before = await page.run(cost);

  await click('cheapest');
  await bursts(1);
  now = await all(ids);
  check('evict the least noticeable: ' + JSON.stringify(now), now.failed === 0 && now.evicted >= 136 && now.alive === 64);
  check('what stays is more noticeable', await page.run(cost) > 1.15 * before);

  await click('grow');
  await click('take');
  await bursts(2);
  now = await all(ids);
  check('grow: ' + JSON.stringify(now), now.failed === 0 && now.evicted === 0 && now['slot-count'] > 64 && now.alive === 464);
  check('no sparkle moved', (await text('state')).startsWith('alive'));

  await click('overflow');
  await bursts(1);
  now = await all(ids);
  check('overflow: ' + JSON.stringify(now), now.failed === 0 && now.evicted === 0 && now.alive === 64 && now.overflowed === 200);
  await bursts(1);
  now = await all(ids);
  check('the overflow pool is full too: ' + JSON.stringify(now), now.failed === 144 && now.overflowed === 256);
  check('blocks are sparkles', await page.run('read().rows') === now.alive + now.overflowed);
  await page.run(`byId('capacity').value = 1024; byId('capacity').dispatchEvent(new Event('input', {bubbles: true}))`);
  check('the overflow pool becomes empty', await steps(60, 'read().secondCount === 0') && await number('slot-count') === 1024);
}

// The page's figures of malloc against a count of what is drawn; and no block is left behind by thousands of evictions.
async function testHeap(page) {
  const {number, click, text} = use(page);
  await click('oldest');
  await page.run(`byId('capacity').value = 256; byId('capacity').dispatchEvent(new Event('input', {bubbles: true}))`);
  await page.run('c.step(15000, 2); draw()');
  check('many evictions', await number('evicted') > 10000);
  const seen = await page.run(`(() => {
    const now = read(), bytes = new Uint8Array(c.memory.buffer, c.granules(), now.granules), holes = [];
    for (let n = 0; n < bytes.length; n++) if (!bytes[n]) n && !bytes[n - 1] ? holes[holes.length - 1]++ : holes.push(1);
    return {span: bytes.length * 16, blocks: bytes.filter(it => it & BLOCK_BEGINS).length, holes, largest: Math.max(0, ...holes) * 16};
  })()`);
  const inHoles = 16 * seen.holes.reduce((a, b) => a + b, 0);
  const fragmented = inHoles ? Math.round(100 - 100 * seen.largest / inHoles) + ' %' : '0 %';
  const bytes = n => page.run(`bytes(${n})`);
  check('blocks, holes', await number('alive') === seen.blocks && await number('holes') === seen.holes.length);
  check('their bytes', await text('span') === await bytes(seen.span) && await text('hole-bytes') === await bytes(inHoles) && await text('largest') === await bytes(seen.largest));
  check('bytes spanned per live byte', await text('spanned') === await page.run(`(${seen.span} / read().liveBytes).toFixed(1) + ' B'`));
  check('fragmented: ' + fragmented, await text('fragmentation') === fragmented);
  check('no block is left behind: ' + seen.span, seen.span < 200000);
  check('malloc serves nothing else', await page.run('heap.memory.buffer.byteLength') === 16 << 20);
}

// Without a mouse.
async function testKeys(page) {
  const {text, number} = use(page);
  const active = () => page.run('document.activeElement.id');
  const reached = [];
  for (let n = 0; n < 10; n++) {
    await page.key('Tab');
    reached.push(await active());
  }
  check('Tab reaches everything: ' + reached, reached.join(' ') === 'play step burst capacity skip take older newer free twice');
  const go = async id => {
    for (let n = 0; n < 20 && await active() !== id; n++) await page.key('Tab');
    return await active() === id;
  };
  check('round to the first', await go('play') && await page.run('plays'));
  await page.key(' ', 'Space', ' ');
  check('Space pauses', await text('play') === 'Play' && await page.run('!plays'));
  await page.key('Enter', 'Enter', '\r');
  check('Enter plays', await page.run('plays'));
  await page.key('Enter', 'Enter', '\r');
  await go('capacity');
  await page.key('ArrowRight');
  check('an arrow: more slots', await number('slot-count') === 576 && await text('capacity-text') === '576 slots');
  await page.key('End');
  check('End: most slots', await number('slot-count') === 1024);
  await go('take');
  await page.key('Enter', 'Enter', '\r');
  check('Enter takes one', (await text('state')).startsWith('alive'));
  await go('skip');
  await page.key('ArrowDown');
  check('an arrow: the next policy', await active() === 'oldest' && (await text('code')).includes('kolk_pool_evict_oldest'));
  check('handles stay valid in a pool that has as many slots', (await text('state')).startsWith('alive'));
  await page.key('ArrowDown');
  await page.key('ArrowDown');
  check('the third one', await active() === 'grow' && (await text('code')).includes('.max_capacity'));
  await page.run(`byId('capacity').focus()`);
  await page.key('Home');
  check('Home: least slots, and a new pool', await number('slot-count') === 64 && (await text('state')).startsWith('stale'));
}

async function testLook(page, look, name) {
  const {text, click} = use(page);
  if (look.still) {
    check(name + ': it rests', await text('play') === 'Play' && await page.run(`(async () => {
      const before = JSON.stringify(read());
      for (let n = 0; n < 10; n++) await new Promise(requestAnimationFrame);
      return !plays && JSON.stringify(read()) === before; })()`));
    check(name + ': there is a picture', await page.run('read().rows > 100'));
    const before = await page.run('JSON.stringify(read())');
    await click('step');
    check(name + ': a step', await page.run('JSON.stringify(read())') !== before && await page.run('!plays'));
  } else {
    check(name + ': it moves', await page.run(`(async () => {
      const before = JSON.stringify(read());
      while (JSON.stringify(read()) === before) await new Promise(requestAnimationFrame);
      return plays; })()`));
  }
  await click('take');
  const sizes = await page.run(`['sky', 'slots', 'heap'].map(id => [byId(id).clientWidth, byId(id).clientHeight])`);
  check(name + ': the pictures have room: ' + sizes, sizes.every(([wide, high]) => wide >= 280 && high >= 200));
  await checkLook(page, look, name);
}

run(async visit => {
  await visit('kolk.html', 1280, 900, {}, async page => {
    await testHandle(page);
    await testPolicies(page);
    await testHeap(page);
  });
  await visit('kolk.html', 1280, 900, {}, testKeys);
  for (const [width, height, look] of [[1280, 900, {}], [1280, 900, {dark: true, still: true}], [360, 740, {still: true}], [360, 740, {dark: true}]])
    await visit('kolk.html', width, height, look, page => testLook(page, look, `${width} ${look.dark ? 'dark' : 'light'}`));
});
