'use strict';
const byId = id => document.getElementById(id);
const count = n => n.toLocaleString('en-US');

function add(parent, name, text, attributes) {
  const node = document.createElement(name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined && text !== null) node.textContent = text;
  return parent.appendChild(node);
}

function bytes(n) {
  return n < 1024 ? n + ' B' : (n / 1024).toFixed(n < 10240 ? 1 : 0) + ' KiB';
}

// ---- The two instances of sparkles.c ---------------------------------------------------------------------------------

const program = new WebAssembly.Module(Uint8Array.from(atob(byId('wasm').textContent), c => c.charCodeAt(0)));

// What kolk asks of a system gets 0 as the answer: there is no environment, and nobody else.
function begin(twin) {
  const imports = {};
  for (const {module, name} of WebAssembly.Module.imports(program)) (imports[module] ??= {})[name] = () => 0;
  let its;
  imports.wasi_snapshot_preview1.environ_sizes_get = (n, size) => {
    const memory = new DataView(its.memory.buffer);
    memory.setUint32(n, 0, true);
    memory.setUint32(size, 0, true);
    return 0;
  };
  if (twin) imports.twin = {malloc: twin.malloc, free: twin.free, usable: twin.usable};
  its = new WebAssembly.Instance(program, imports).exports;
  its._initialize();
  return its;
}

const heap = begin(), c = begin(heap);

// The members of struct figures, in their order.
const members = ['capacity', 'count', 'peak', 'failed', 'evictions', 'fresh', 'committed', 'secondCount', 'secondCapacity', 'secondFresh',
  'span', 'holes', 'holeBytes', 'largestHole', 'fittingBytes', 'liveBytes', 'granules', 'yours', 'low', 'high', 'slot', 'generation',
  'inSecond', 'slotGeneration', 'twinAt', 'twinGranules', 'rows', 'waves'];
const places = ['x', 'y', 'tipX', 'tipY'];
const ROW = 14, BRIGHTEST = 127, BLOCK_BEGINS = 128, NO_HANDLE = 0, ALIVE = 1;

function read() {
  const at = c.figures(), numbers = new Uint32Array(c.memory.buffer, at), now = {};
  members.forEach((name, n) => { now[name] = numbers[n]; });
  const floats = new Float32Array(c.memory.buffer, at + 4 * members.length);
  places.forEach((name, n) => { now[name] = floats[n]; });
  return now;
}

function textAt(at) {
  const memory = new Uint8Array(c.memory.buffer);
  return new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at)));
}

// ---- Light -------------------------------------------------------------------------------------------------------------

const fire = [[1, .9, .6], [1, .62, .15], [1, .22, .15], [.8, .08, .5], [.28, .1, .85], [.05, .06, .4]];
const embers = [[.002, .002, .01], [.025, .01, .16], [.2, .03, .3], [.9, .14, .16], [1.8, .7, .1], [2.6, 1.9, .7]];
const orders = [[0, 1, 2], [1, 0, 2], [2, 1, 0]]; // a tint swaps two of the channels

function between(ramp, place) {
  const step = Math.min(Math.max(place, 0), 1) * (ramp.length - 1), below = Math.min(Math.floor(step), ramp.length - 2);
  return ramp[below].map((light, n) => light + (ramp[below + 1][n] - light) * (step - below));
}

function color(light, alpha = 1) {
  const [r, g, b] = light.map(part => Math.round(255 * Math.pow(1 - Math.exp(-part), 1 / 1.8)));
  return `rgb(${r} ${g} ${b} / ${alpha})`;
}

const AGES = 14, HALO = 24;

// A soft disc of light, to be drawn behind a sparkle.
function halo(light, strength) {
  const canvas = document.createElement('canvas'), paint = canvas.getContext('2d'), size = canvas.width = canvas.height = 2 * HALO;
  const fade = paint.createRadialGradient(HALO, HALO, 0, HALO, HALO, HALO);
  [[0, .5], [.12, .3], [.35, .09], [.65, .025], [1, 0]].forEach(([at, alpha]) => fade.addColorStop(at, color(light, alpha * strength)));
  paint.fillStyle = fade;
  paint.fillRect(0, 0, size, size);
  return canvas;
}

const sparks = orders.map(order => Array.from({length: AGES}, (_, age) => {
  const light = between(fire, age / (AGES - 1)), tinted = order.map(n => light[n]);
  return {bright: color(tinted.map(part => 1.5 * part)), glow: color(tinted, .12), halo: halo(tinted, 1 - .5 * age / (AGES - 1))};
}));
const shades = Array.from({length: BRIGHTEST + 1}, (_, shade) => color(between(embers, shade ? .3 + .7 * shade / BRIGHTEST : .13)));
const NEVER = '#0b0d15', OUTLINE = '#ffffff', LOST = '#ff7a66';

// ---- The pictures ------------------------------------------------------------------------------------------------------

// Returns the canvas's context, in which a unit is a pixel of the page, and its size.
function canvasOf(id) {
  const canvas = byId(id), width = canvas.clientWidth, height = canvas.clientHeight, scale = Math.min(devicePixelRatio, 2);
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const paint = canvas.getContext('2d');
  paint.setTransform(scale, 0, 0, scale, 0, 0);
  paint.clearRect(0, 0, width, height);
  return {paint, width, height};
}

function ring(paint, x, y, radius, style, dashes) {
  paint.save();
  paint.globalCompositeOperation = 'source-over';
  paint.strokeStyle = style;
  paint.lineWidth = 2;
  paint.setLineDash(dashes);
  paint.beginPath();
  paint.arc(x, y, radius, 0, 2 * Math.PI);
  paint.stroke();
  paint.restore();
}

function label(paint, text, x, y, width, style) {
  paint.save();
  paint.globalCompositeOperation = 'source-over';
  paint.font = '600 13px system-ui, sans-serif';
  const wide = paint.measureText(text).width, isLeft = x + wide > width - 28, left = isLeft ? x - 20 - wide : x + 20, down = Math.max(y, 16);
  paint.fillStyle = 'rgb(6 7 12 / .75)';
  paint.fillRect(left - 4, down - 11, wide + 8, 22);
  paint.fillStyle = style;
  paint.fillText(text, left, down + 4.5);
  paint.restore();
}

function drawSky(now) {
  const {paint, width, height} = canvasOf('sky'), half = height / 2;
  const x = at => width / 2 + at * half, y = at => half - at * half;
  const rows = new Float32Array(c.memory.buffer, c.sky(), now.rows * ROW);
  paint.globalCompositeOperation = 'lighter';
  paint.globalAlpha = Math.min(1, 320 / (now.rows + 120)); // the more sparkles there are, the less bright each one is
  const strokes = sparks.map(ages => ages.map(() => [new Path2D(), new Path2D()])); // of a tint and an age: the tails, the heads
  for (let at = 0; at < rows.length; at += ROW) {
    const [left, top, frames, lifetime, tint, tail] = rows.subarray(at, at + 6), gone = 1 - frames / lifetime;
    const age = Math.round(gone * (AGES - 1)), [line, head] = strokes[tint][age], size = 1.9 - gone;
    paint.drawImage(sparks[tint][age].halo, x(left) - HALO, y(top) - HALO);
    head.moveTo(x(left) + size, y(top));
    head.arc(x(left), y(top), size, 0, 2 * Math.PI);
    if (tail) line.moveTo(x(left), y(top));
    for (let n = 0; n < tail; n++) line.lineTo(x(rows[at + 6 + 2 * n]), y(rows[at + 7 + 2 * n]));
  }
  paint.lineCap = paint.lineJoin = 'round';
  paint.globalAlpha = 1;
  strokes.forEach((ages, tint) => ages.forEach(([line, head], age) => {
    const {bright, glow} = sparks[tint][age];
    paint.strokeStyle = glow;
    paint.lineWidth = 4;
    paint.stroke(line);
    paint.strokeStyle = paint.fillStyle = bright;
    paint.lineWidth = 1;
    paint.stroke(line);
    paint.fill(head);
  }));
  if (now.waves) {
    const light = paint.createRadialGradient(x(now.tipX), y(now.tipY), 0, x(now.tipX), y(now.tipY), 22);
    light.addColorStop(0, 'rgb(255 250 230 / .95)');
    light.addColorStop(.15, 'rgb(255 226 150 / .55)');
    light.addColorStop(1, 'rgb(255 180 80 / 0)');
    paint.fillStyle = light;
    paint.fillRect(x(now.tipX) - 22, y(now.tipY) - 22, 44, 44);
  }
  const isAlive = now.yours === ALIVE, style = isAlive ? OUTLINE : LOST;
  if (now.yours === NO_HANDLE || staleFor > 180) return;
  ring(paint, x(now.x), y(now.y), 12, style, isAlive ? [] : [4, 4]);
  label(paint, isAlive ? `slot ${now.slot}, generation ${now.generation}` : 'stale', x(now.x), y(now.y), width, style);
}

// The size of the largest squares of which n fill a picture.
function squares(n, width, height) {
  let columns = Math.max(1, Math.floor(Math.sqrt(n * width / height)));
  while (Math.ceil(n / columns) * width / columns > height) columns++;
  return {columns, size: width / columns};
}

// Draws the slots of one pool from `top` on, and returns where each lies.
function drawPool(paint, memory, {capacity, fresh, mine, isAlive}, top, width, height) {
  const {columns, size} = squares(capacity, width, height), gap = size > 7 ? 1.5 : 1;
  for (let slot = 0; slot < capacity; slot++) {
    const left = slot % columns * size, down = top + Math.floor(slot / columns) * size;
    paint.fillStyle = slot < fresh ? shades[memory[slot]] : NEVER;
    paint.fillRect(left, down, size - gap, size - gap);
    if (slot !== mine) continue;
    paint.strokeStyle = isAlive ? OUTLINE : LOST;
    paint.lineWidth = 2.5;
    paint.setLineDash(isAlive ? [] : [3, 3]);
    paint.strokeRect(left - 1, down - 1, size + 2 - gap, size + 2 - gap);
    paint.setLineDash([]);
  }
  return {top, columns, size, capacity};
}

let drawn = []; // where the slots of the pool and of the overflow pool lie

function drawSlots(now) {
  const {paint, width, height} = canvasOf('slots'), edge = 4, inside = width - 2 * edge;
  const of = (inSecond, capacity, fresh) => ({capacity, fresh, isAlive: now.yours === ALIVE,
    mine: now.yours !== NO_HANDLE && now.inSecond === inSecond ? now.slot : -1});
  const memory = n => new Uint8Array(c.memory.buffer, c.slots(n));
  const high = now.secondCapacity ? Math.round(height * .72) : height - edge;
  paint.translate(edge, 0);
  drawn = [drawPool(paint, memory(0), of(0, now.capacity, now.fresh), edge, inside, high - edge)];
  if (!now.secondCapacity) return;
  paint.fillStyle = '#a3aeb2';
  paint.font = '12px system-ui, sans-serif';
  paint.fillText('the overflow pool', 0, high + 12);
  drawn.push(drawPool(paint, memory(1), of(1, now.secondCapacity, now.secondFresh), high + 18, inside, height - edge - high - 18));
}

let mostGranules = 1;

// A block is a bar of as many granules as it has, which goes on in the next row where it does not fit.
function drawHeap(now) {
  const {paint, width, height} = canvasOf('heap'), edge = 4, inside = width - 2 * edge;
  mostGranules = Math.max(mostGranules, now.granules, 600);
  const {columns, size} = squares(mostGranules, inside, height - 2 * edge), memory = new Uint8Array(c.memory.buffer, c.granules(), mostGranules);
  const bar = (at, n, put) => {
    while (n > 0) {
      const part = Math.min(n, columns - at % columns);
      put(edge + at % columns * size, edge + Math.floor(at / columns) * size, part * size - 1, size - 1);
      at += part;
      n -= part;
    }
  };
  for (let at = 0, end; at < mostGranules; at = end) {
    end = at + 1;
    while (end < mostGranules && memory[end] === (memory[at] & BRIGHTEST) && (memory[at] || end < now.granules === at < now.granules)) end++;
    paint.fillStyle = at < now.granules ? shades[memory[at] & BRIGHTEST] : NEVER;
    bar(at, end - at, (...place) => paint.fillRect(...place));
  }
  if (now.yours !== ALIVE) return;
  paint.strokeStyle = OUTLINE;
  paint.lineWidth = 2.5;
  bar(now.twinAt, now.twinGranules, (left, top, wide, high) => paint.strokeRect(left - 1, top - 1, wide + 2, high + 2));
}

// ---- The numbers -------------------------------------------------------------------------------------------------------

function addFigures(list, rows) {
  return Object.fromEntries(rows.map(([key, name, title]) => {
    const pair = add(byId(list), 'div', null, {title});
    add(pair, 'dt', name);
    return [key, add(pair, 'dd', '', {id: key})];
  }));
}

const cells = {
  ...addFigures('pool-figures', [
    ['alive', 'alive', 'Sparkles in the pool now'],
    ['peak', 'peak', 'The most that were alive at a time: this capacity would have sufficed'],
    ['slot-count', 'capacity', 'Slots that can be used without more memory'],
    ['failed', 'failed', 'Allocs that returned NULL'],
    ['evicted', 'evicted', 'Sparkles that ended early to make room'],
    ['overflowed', 'overflow', 'Sparkles in the overflow pool now'],
    ['pool-bytes', 'memory', 'All memory of the pool, with its own records']]),
  ...addFigures('heap-figures', [
    ['span', 'spans', "From the lowest block so far to the end of the last one"],
    ['spanned', 'per byte', 'Bytes spanned for each byte of a live sparkle'],
    ['holes', 'holes', 'Free pieces before and between the blocks'],
    ['hole-bytes', 'in holes', 'The bytes of all holes'],
    ['largest', 'largest', 'The largest hole: no larger block fits without more memory'],
    ['fragmentation', 'fragmented', 'The part of the bytes in holes that is not in the largest one']])
};

function set(key, text) {
  if (cells[key].textContent !== text) cells[key].textContent = text;
}

function write(id, text) {
  if (byId(id).textContent !== text) byId(id).textContent = text;
}

function showFigures(now) {
  set('alive', count(now.count));
  set('peak', count(now.peak));
  set('slot-count', count(now.capacity));
  set('failed', count(now.failed));
  set('evicted', count(now.evictions));
  set('overflowed', now.secondCapacity ? count(now.secondCount) : '–');
  set('pool-bytes', bytes(now.committed));
  set('span', bytes(now.span));
  set('holes', count(now.holes));
  set('hole-bytes', bytes(now.holeBytes));
  set('largest', bytes(now.largestHole));
  set('fragmentation', now.holeBytes ? Math.round(100 - 100 * now.largestHole / now.holeBytes) + ' %' : '0 %');
  set('spanned', now.liveBytes ? (now.span / now.liveBytes).toFixed(1) + ' B' : '–');
}

function showYours(now) {
  const where = now.inSecond ? 'of the overflow pool' : '', isAlive = now.yours === ALIVE;
  if (now.yours === NO_HANDLE) {
    write('handle', '');
    write('state', '');
    write('after', 'Click a sparkle or a slot, or take the newest one: you get its handle, a plain integer.');
    return;
  }
  write('handle', `handle ${BigInt(now.high) << 32n | BigInt(now.low)}: slot ${now.slot}, generation ${now.generation}`);
  write('state', isAlive ? 'alive: sparkles_get gives it' : 'stale: sparkles_get gives NULL');
  byId('state').className = isAlive ? 'alive' : 'stale';
  write('after', (isAlive ? `It is in slot ${now.slot} ${where}.` : now.slotGeneration ?
    `Slot ${now.slot} ${where} has another sparkle now, of generation ${now.slotGeneration}. The handle does not reach it.` :
    `Slot ${now.slot} ${where} is empty.`).replace(/ +/g, ' ').replace(' .', '.'));
}

// ---- The settings ------------------------------------------------------------------------------------------------------

// In the order of enum policy.
const policies = [
  ['skip', 'Skip the new one', 'alloc returns NULL, and the sparkle is not born: failed rises.', ''],
  ['oldest', 'Evict the oldest', 'The sparkle born first ends at once, in O(1). No alloc fails.', '.full.on_full = kolk_pool_evict_oldest'],
  ['cheapest', 'Evict the least noticeable', 'The sparkle with the shortest tail and time left ends, in O(log n). No alloc fails.',
    '.full = {.on_full = kolk_pool_evict_cheapest, .cost = cost_of, .ranked = true}'],
  ['grow', 'Grow', 'The pool gets more slots, up to 2,048. No sparkle moves, and all handles stay valid.', '.max_capacity = 2048'],
  ['overflow', 'Use an overflow pool', 'A second pool takes the rest, up to 256. Its memory is released when it is empty again.',
    '.full.overflow = &second.pool']
];
const policy = () => policies.findIndex(([value]) => byId(value).checked);

for (const [value, name] of policies) {
  const choice = add(byId('policies'), 'label', null, {class: 'choice'});
  add(choice, 'input', null, {type: 'radio', name: 'policy', id: value, value});
  add(choice, 'span', name);
}
byId('skip').checked = true;

function make() {
  const capacity = +byId('capacity').value, [, , text, options] = policies[policy()];
  if (c.make(capacity, policy()) !== 0) throw new Error('the pool could not be made');
  write('capacity-text', count(capacity) + ' slots');
  write('policy-text', text);
  write('code', `sparkles_init(&pool, &(kolk_pool_desc){.capacity = ${capacity}${options && ', ' + options}});`);
}

// ---- Time --------------------------------------------------------------------------------------------------------------

// owed: the part of a frame that has not passed yet; staleFor: frames since your handle was last seen alive
let plays = false, last = 0, owed = 0, staleFor = 0;

function draw() {
  const now = read();
  if (now.yours === ALIVE) staleFor = 0;
  drawSky(now);
  drawSlots(now);
  drawHeap(now);
  showFigures(now);
  showYours(now);
}

function pass(frames) {
  staleFor += frames;
  c.step(frames, byId('sky').clientWidth / byId('sky').clientHeight);
  draw();
}

function tick(time) {
  if (!plays) return;
  owed = Math.min(owed + Math.max(time - last, 0) * .06, 4); // 60 frames a second; a slow machine has fewer
  last = time;
  const frames = Math.floor(owed);
  owed -= frames;
  if (frames) pass(frames);
  requestAnimationFrame(tick);
}

function play(on) {
  if (plays === on) return;
  plays = on;
  write('play', on ? 'Pause' : 'Play');
  if (!on) return;
  last = performance.now();
  requestAnimationFrame(tick);
}

// ---- What a visitor does -----------------------------------------------------------------------------------------------

function act(id, action) {
  byId(id).addEventListener('click', () => {
    write('report', '');
    action();
    draw();
  });
}

act('play', () => play(!plays));
act('step', () => { play(false); pass(6); });
act('burst', () => c.burst());
act('take', () => c.take_newest());
act('older', () => c.take_next(1));
act('newer', () => c.take_next(0));
act('free', () => c.end());
act('twice', () => write('report', textAt(c.end_twice())));

byId('capacity').addEventListener('input', () => { make(); draw(); });
byId('policies').addEventListener('change', () => { make(); draw(); });

byId('sky').addEventListener('pointerdown', event => {
  const half = byId('sky').clientHeight / 2;
  c.take_at((event.offsetX - byId('sky').clientWidth / 2) / half, 1 - event.offsetY / half, 45 / half);
  write('report', '');
  draw();
});

byId('slots').addEventListener('pointerdown', event => {
  drawn.forEach(({top, columns, size, capacity}, n) => {
    const column = Math.floor((event.offsetX - 4) / size), slot = Math.floor((event.offsetY - top) / size) * columns + column;
    if (column >= 0 && column < columns && event.offsetY >= top && slot < capacity) c.take_slot(slot, n);
  });
  write('report', '');
  draw();
});

for (const [list, rows] of [
  ['pool-legend', [[shades[BRIGHTEST], 'new'], [shades[BRIGHTEST >> 1], 'old'], [shades[0], 'free'], [NEVER, 'never used']]],
  ['heap-legend', [[shades[BRIGHTEST], 'new'], [shades[BRIGHTEST >> 1], 'old'], [shades[0], 'hole'], [NEVER, 'behind the last block']]]])
  for (const [style, text] of rows) add(add(byId(list), 'li'), 'span').style.background = style, byId(list).lastChild.append(text);

const still = matchMedia('(prefers-reduced-motion: reduce)');
still.addEventListener('change', () => play(!still.matches));
new ResizeObserver(draw).observe(byId('slots'));
make();
pass(150);
write('play', 'Play');
play(!still.matches);
