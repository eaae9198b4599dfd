-- What docs/lua.md promises of the module kolk, one promise after the other. Runs in lua5.4, and in host.c.
local kolk = require "kolk"

-- The call must raise an error whose text contains `words`.
local function fails(words, call, ...)
  local ok, said = pcall(call, ...)
  assert(not ok, "it did not fail: " .. words)
  assert(tostring(said):find(words, 1, true), tostring(said) .. " was said instead of: " .. words)
end

local function list(...)
  local texts = table.pack(...)
  for i = 1, texts.n do texts[i] = tostring(texts[i]) end
  return table.concat(texts, " ")
end

local function same(wanted, ...)
  local got = list(...)
  if got ~= wanted then error(got .. " instead of " .. wanted, 2) end
end

-- ---- pools

do
  local bullets <close> = kolk.pool{name = "bullets", capacity = 3,
    fields = "float x, dx; int hp; bool hot; kolk_handle target;"}
  local a = bullets:alloc{x = 1, dx = 0.5, hot = true}
  same("integer", math.type(a))
  same("1.0 0.5 0 true 0", bullets:get(a)) -- without names: all fields; those that were not set are 0
  same("true 1.0", bullets:get(a, "hot", "x"))
  same("true", bullets:set(a, "x", 3, "hp", -7))
  same("true", bullets:set(a, {dx = 2, target = a}))
  same("3.0 2.0 -7 true " .. a, bullets:get(a))
  local b = bullets:alloc("x", 10, "dx", 1)
  local c = bullets:alloc()
  same("nil", bullets:alloc()) -- it is full
  same("3 3 pool bullets: 3 of 3", #bullets, bullets:capacity(), bullets)

  local moved = {}
  for h, x, dx in bullets:each("x", "dx") do
    bullets:set(h, "x", x + dx)
    moved[#moved + 1] = h
  end
  same(list(a, b, c), table.unpack(moved))
  same("5.0 11.0 0.0", bullets:get(a, "x"), bullets:get(b, "x"), bullets:get(c, "x"))
  for h in bullets:each() do assert(bullets:free(h)) end -- the current object may be freed
  same("0", #bullets)
  for _ in bullets:each() do error "no object is alive" end

  same("false false nil false nil", bullets:free(a), bullets:is_alive(a), bullets:get(a, "x"), bullets:set(a, "x", 1),
    bullets:object(a))
  for _, nonsense in ipairs{0, -1, math.maxinteger, math.mininteger, a + 1, 2.0} do same("false", bullets:free(nonsense)) end
  fails("number expected, got nil", bullets.free, bullets, nil)
  fails("number expected, got table", bullets.get, bullets, {}, "x")
  fails("no integer representation", bullets.get, bullets, 0.5, "x")
  fails("no integer representation", bullets.get, bullets, 0 / 0, "x")
  local next_life = bullets:alloc{x = 4}
  same("0.0 4.0", select(2, bullets:get(next_life)), bullets:get(next_life, "x")) -- nothing remains of the last life
  same("false true", bullets:is_alive(a), bullets:is_alive(next_life))
  bullets:clear()
  same("false 0", bullets:is_alive(next_life), #bullets)
end

do -- a new object in the same slot
  local pool <close> = kolk.pool{name = "renewed", capacity = 1, fields = "float x, y"}
  local old = pool:alloc{x = 1, y = 2}
  local new = pool:renew(old, "x", 3)
  same("false true 3.0 0.0 1", pool:is_alive(old), new ~= old, pool:get(new, "x"), pool:get(new, "y"), #pool)
  same("nil nil", pool:renew(old), pool:renew(0))
  fails("there is no field z", pool.renew, pool, new, "z", 1)
  same("0 false", #pool, pool:is_alive(new)) -- as if alloc had failed
end

-- ---- mistakes are errors of Lua, and change nothing

do
  local pool <close> = kolk.pool{name = "small", capacity = 2, fields = "uint8_t u8; int8 i8; uint16 u16; int16_t i16; "
    .. "uint32 u32; int32 i32; uint64_t u64; int64_t i64; float f; double d; bool b"}
  local h = pool:alloc()
  for name, range in pairs{u8 = {0, 255}, i8 = {-128, 127}, u16 = {0, 65535}, i16 = {-32768, 32767},
    u32 = {0, 4294967295}, i32 = {-2147483648, 2147483647}} do
    for i = 1, 2 do
      pool:set(h, name, range[i])
      same(tostring(range[i]), pool:get(h, name))
      local beyond = range[i] + (i == 1 and -1 or 1)
      local said = string.format("small: the field %s is an integer from %d to %d (got %d)", name, range[1], range[2], beyond)
      fails(said, pool.set, pool, h, name, beyond)
    end
    fails("(got 1.5)", pool.set, pool, h, name, 1.5)
    fails("is an integer", pool.set, pool, h, name, 0 / 0)
    fails("is an integer", pool.set, pool, h, name, 1 / 0)
    same(tostring(range[2]), pool:get(h, name))
  end
  for _, name in ipairs{"u64", "i64"} do
    for _, value in ipairs{math.mininteger, -1, math.maxinteger} do
      pool:set(h, name, value)
      same(tostring(value), pool:get(h, name))
    end
    fails("is an integer", pool.set, pool, h, name, 2.0 ^ 64)
  end
  pool:set(h, "u8", 3.0) -- an integer too
  same("3", pool:get(h, "u8"))
  pool:set(h, "f", 0.1, "d", 0.1, "b", true)
  same(list(string.unpack("f", string.pack("f", 0.1)), nil):match("%S+"), pool:get(h, "f"))
  same("0.1 true", pool:get(h, "d", "b"))
  pool:set(h, "f", 1e300, "d", 1 / 0)
  same("inf inf", pool:get(h, "f", "d"))
  fails("the field f is a number (got string)", pool.set, pool, h, "f", "1")
  fails("the field d is a number (got no value)", pool.set, pool, h, "d")
  fails("the field b is a boolean (got 1)", pool.set, pool, h, "b", 1)
  fails("the field i8 is an integer from -128 to 127 (got no value)", pool.set, pool, h, "u8", 1, "i8")
  fails("the field i8 is an integer from -128 to 127 (got no value)", pool.alloc, pool, "i8")
  fails("the field i8 is an integer from -128 to 127 (got string)", pool.set, pool, h, "i8", "1")
  fails("there is no field z", pool.set, pool, h, "z", 1)
  fails("there is no field z", pool.get, pool, h, "u8", "z")
  fails("there is no field z", pool.each, pool, "z")
  fails("the name of a field was expected (got table)", pool.set, pool, h, "u8", 1, {}, 1)
  fails("the name of a field was expected (got number)", pool.set, pool, h, {1})
  same("1", #pool)
  fails("there is no field z", pool.alloc, pool, {z = 1}) -- the object that was half made is freed
  fails("the field f is a number", pool.alloc, pool, "f", {})
  same("1", #pool)

  fails("kolk.pool expected, got no value", pool.alloc)
  fails("kolk.pool expected, got table", pool.alloc, setmetatable({}, {__index = pool}))
  fails("kolk.pool expected, got kolk.object", pool.alloc, pool:object(h))
  fails("kolk.pool expected, got FILE*", pool.alloc, io.stdout)
  local other <close> = kolk.slotmap{name = "other", max_capacity = 2, fields = "float f"}
  fails("kolk.pool expected, got kolk.slotmap", pool.alloc, other)
  same("kolk.pool kolk.object", getmetatable(pool), getmetatable(pool:object(h)))
end

-- ---- objects

do
  local pool <close> = kolk.pool{name = "ships", capacity = 2, fields = "double x; int32 hp"}
  local h = pool:alloc{x = 1}
  local ship, again = pool:object(h), pool:object(h)
  ship.x = ship.x + 0.5
  ship.hp = 3
  same("1.5 3 true false", again.x, ship.hp, ship == again, rawequal(ship, again))
  same("object of ships: " .. h, ship)
  same(tostring(h), pool:handle(ship))
  same("1.5 true", pool:get(ship, "x"), pool:is_alive(ship)) -- an object stands for its handle
  fails("ships: there is no field y", function() return ship.y end)
  fails("ships: the field hp is an integer", function() ship.hp = "many" end)
  fails("ships: the name of a field was expected", function() return ship[1] end)
  local other <close> = kolk.pool{name = "boats", capacity = 2, fields = "double x; int32 hp"}
  local boat = other:object(other:alloc())
  same("false nil false", pool:is_alive(boat), pool:handle(boat), boat == ship)
  same("false", pool:free(boat))
  same("true", pool:free(ship))
  fails("ships: the object is gone", function() return ship.x end)
  fails("ships: the object is gone", function() ship.x = 1 end)
  same("stale object of ships: " .. h .. " false", ship, pool:free(ship))
  same(tostring(h), pool:handle(ship))
  boat.x = 7
  other:close()
  fails("boats: it is closed", function() return boat.x end)
  fails("boats is closed", other.alloc, other)
  fails("boats is closed", function() return #other end)
  same("pool boats, closed", other)
  other:close()
end

-- ---- handles of other pools

do
  local a <close> = kolk.pool{name = "a", capacity = 8, fields = "float x"}
  local b <close> = kolk.pool{name = "b", capacity = 8, fields = "float x"}
  local tagged <close> = kolk.pool{name = "a", capacity = 8, fields = "float x", tag = 99}
  local h = a:alloc()
  b:alloc()
  tagged:alloc()
  same("true false false", a:is_alive(h), b:is_alive(h), tagged:is_alive(h))
end

-- ---- when it is full, growth, order of reuse

do
  local oldest <close> = kolk.pool{name = "oldest", capacity = 2, fields = "int n", on_full = "oldest"}
  local first, second = oldest:alloc{n = 1}, oldest:alloc{n = 2}
  local third = oldest:alloc{n = 3}
  same("false true true 1", oldest:is_alive(first), oldest:is_alive(second), oldest:is_alive(third),
    oldest:stats().evictions)

  local cheapest <close> = kolk.pool{name = "voices", capacity = 3, fields = "int n; float loudness",
    on_full = "cheapest", cost = "loudness"}
  local loud, quiet = cheapest:alloc{loudness = 3}, cheapest:alloc{loudness = 1}
  cheapest:alloc{loudness = 2}
  assert(cheapest:alloc{loudness = 9})
  same("true false", cheapest:is_alive(loud), cheapest:is_alive(quiet))
  fails("on_full = \"cheapest\" needs the option cost", kolk.pool, {name = "voices", capacity = 3, fields = "int n", on_full = "cheapest"})
  fails("there is no field volume", kolk.pool,
    {name = "voices", capacity = 3, fields = "int n", on_full = "cheapest", cost = "volume"})

  local called, answer = 0, true
  local function make_room(pool)
    called = called + 1
    same("nil", pool:alloc()) -- is not called within itself
    for h in pool:each() do pool:free(h) return answer end
  end
  local asked <close> = kolk.pool{name = "asked", capacity = 2, fields = "int n", on_full = make_room}
  for n = 1, 5 do assert(asked:alloc("n", n)) end
  same("3 2", called, #asked)
  answer = false
  same("nil 1", asked:alloc{n = 6}, #asked)
  assert(asked:alloc())
  answer = true
  local fault <close> = kolk.pool{name = "fault", capacity = 1, fields = "int n",
    on_full = function() error "out of voices" end}
  fault:alloc()
  fails("out of voices", fault.alloc, fault)
  fails("out of voices", fault.alloc, fault) -- is called again
  local closes
  closes = kolk.pool{name = "closes", capacity = 1, fields = "int n",
    on_full = function(pool) pool:close() return true end}
  closes:alloc()
  fails("closes is closed", closes.alloc, closes, {n = 1})

  local grows <close> = kolk.pool{name = "grows", capacity = 0, max_capacity = 1000, fields = "int n", reuse = "lowest"}
  local made = {}
  for n = 1, 1000 do made[n] = grows:alloc{n = n} end
  same("nil 1000", grows:alloc(), #grows)
  grows:free(made[7])
  grows:free(made[5])
  local wanted = 5
  for n = 1, 2 do assert(grows:alloc{n = -n}) end
  local at, order = 0, {}
  for _, n in grows:each "n" do
    at = at + 1
    if n < 0 then order[#order + 1] = at .. ":" .. n end
  end
  same("5:-1 7:-2", table.unpack(order)) -- the lowest free slot first
  local fifo <close> = kolk.pool{name = "fifo", capacity = 3, fields = "int n", reuse = "fifo"}
  local x, y = fifo:alloc(), fifo:alloc()
  fifo:free(x)
  fifo:alloc{n = 3}
  order = {}
  for _, n in fifo:each "n" do order[#order + 1] = n end
  same("0 3", table.unpack(order)) -- a slot that was never used comes first
end

-- ---- bad descriptors

local function bad(words, options, make)
  options.name, options.fields = "bad", options.fields or "int n"
  fails(words, make or kolk.pool, options)
end

fails("table expected", kolk.pool, nil)
fails("kolk.pool: the option name must be a string (got nil)", kolk.pool, {fields = "int n", capacity = 1})
fails("kolk.pool: the option fields must be a string (got nil)", kolk.pool, {name = "bad", capacity = 1})
bad("kolk.pool: there is no option capacitty", {capacitty = 1})
fails("kolk.pool: there is no option without a name", kolk.pool, {"bad"})
bad("kolk.pool: bad: capacity is 0, and there is no max_capacity to grow to", {})
bad("kolk.pool: bad: max_capacity is below capacity", {capacity = 2, max_capacity = 1})
bad("kolk.pool: the option reuse must be lifo, fifo or lowest (got random)", {capacity = 1, reuse = "random"})
bad("kolk.pool: the option on_full must be oldest, cheapest or a function (got 7)", {capacity = 1, on_full = 7})
for _, value in ipairs{-1, 2 ^ 32, 1.5, "many", {}, true} do
  bad("kolk.pool: the option capacity must be an integer from 0 to 4294967295 (got ", {capacity = value})
end
bad("bad: fields: a type was expected here: flaot x", {fields = "int n; flaot x", capacity = 1})
bad("bad: fields: a name was expected here: ; int n", {fields = "float; int n", capacity = 1})
bad("bad: fields: a name was expected here: 3d", {fields = "float x, 3d", capacity = 1})
bad("bad: fields: , or ; was expected here: [3]", {fields = "float x[3]", capacity = 1})
bad("bad: fields: there are two fields x", {fields = "float x; int x", capacity = 1})
bad("bad: fields declares none", {fields = " ", capacity = 1})
bad("kolk.pool: bad: capacity is negative, or above 2^31 - 1", {capacity = 2 ^ 32 - 1})
bad("kolk.bytemap: bad: count is negative, or above 2^23", {count = 2 ^ 32 - 1}, kolk.bytemap)
bad("kolk.slotmap: bad: capacity is 0", {}, kolk.slotmap)
bad("kolk.slotmap: there is no option on_full", {on_full = "oldest"}, kolk.slotmap)

-- ---- snapshots

for _, make in ipairs{kolk.pool, kolk.slotmap} do
  local fields = {name = "saved", fields = "int n; float x", max_capacity = 100}
  local one, two <close> = make(fields), make(fields)
  local create, remove = one.alloc or one.add, one.free or one.remove
  local keep = create(one, {n = 1, x = 0.5})
  remove(one, create(one, {n = 2}))
  local last = create(one, {n = 3})
  local text = one:snapshot()
  create(one, {n = 4})
  remove(one, keep)
  same("true", one:restore(text))
  same("2 1 0.5 3 0.0", #one, one:get(keep, "n"), one:get(keep, "x"), one:get(last))
  one:close()
  same("true", two:restore(text)) -- another container of the same name and fields
  same("2 1 3", #two, two:get(keep, "n"), two:get(last, "n"))
  for _, damaged in ipairs{"", text:sub(1, -2), text:sub(1, 60) .. "?" .. text:sub(62), string.rep("\0", 1000)} do
    local restored, why = two:restore(damaged)
    same("nil string", restored, type(why))
  end
  same("nil the snapshot is cut off or changed: its size or its checksum is wrong", two:restore(text .. "?"))
  fails("string expected", two.restore, two, nil)
  same("2 1 3", #two, two:get(keep, "n"), two:get(last, "n"))
  local third <close> = make{name = "other", fields = "int n; float x", max_capacity = 100}
  same("nil", (third:restore(text)))
end

-- ---- walks continue, whatever happens meanwhile

for _, make in ipairs{kolk.pool, kolk.slotmap} do
  local it = make{name = "walked", fields = "int n", max_capacity = 300}
  local create, remove = it.alloc or it.add, it.free or it.remove
  for n = 1, 200 do create(it, {n = n}) end
  local text, seen = it:snapshot(), 0
  for h in it:each "n" do
    seen = seen + 1
    if seen == 100 then it:clear() end
  end
  same("100", seen)
  it:restore(text)
  local next = it:each "n"
  for _ = 1, 100 do assert(next()) end
  it:clear()
  it:restore(text)
  for _ = 1, 100 do assert(next()) end
  same("nil nil", next(), next())
  next = it:each "n"
  assert(next())
  it:close()
  fails("walked was closed during a walk", next)
  it = nil
  collectgarbage()
  fails("closed during a walk", next)
end

-- ---- slot maps

do
  local map <close> = kolk.slotmap{name = "bodies", fields = "double depth; int n", max_capacity = 10}
  local handles = {}
  for n, depth in ipairs{3, 1, 0 / 0, 2, 1} do handles[n] = map:add{depth = depth, n = n} end
  map:sort "depth"
  local order = {}
  for _, n in map:each "n" do order[#order + 1] = n end
  same("2 5 4 1 3", table.unpack(order)) -- equal ones keep their order; what is not a number comes last
  map:sort "n"
  order = {}
  for h, n in map:each "n" do
    if n == 2 then map:remove(h) else order[#order + 1] = n end
  end
  same("1 5 3 4", table.unpack(order)) -- the last one moves to the place of the one that was removed
  same("false true 4", map:is_alive(handles[2]), map:is_alive(handles[5]), #map)
  same("slot map bodies: 4 of 10", map)
  same("false", map:remove(handles[2]))
  fails("there is no field x", map.sort, map, "x")
  local bits <close> = kolk.slotmap{name = "bits", fields = "uint64 u; bool b", max_capacity = 4}
  for _, u in ipairs{3, 1, 2} do bits:add{u = u} end
  bits:sort "u"
  order = {}
  for _, u in bits:each "u" do order[#order + 1] = u end
  same("1 2 3", table.unpack(order))
end

-- ---- byte maps: the handles of the GTA pools

do
  local peds <close> = kolk.bytemap{name = "peds", fields = "float health", count = 3}
  same("1 257 513 nil", peds:new{health = 100}, peds:new(), peds:new(), peds:new())
  same("true false nil", peds:delete(1), peds:delete(1), peds:get(1, "health"))
  same("2 0.0", peds:new(), peds:get(2, "health"))
  same("false false", peds:is_alive(2 ^ 32 + 2 | 0), peds:is_alive(2 | math.mininteger)) -- not the handle 2
  local seen = {}
  for h in peds:each() do seen[#seen + 1] = h peds:delete(h) end
  same("2 257 513", table.unpack(seen))
  for _, nonsense in ipairs{-1, 0, 128, 2 ^ 31, 2 ^ 32 + 1, math.mininteger, math.maxinteger} do
    same("false", peds:is_alive(math.tointeger(nonsense)))
  end
  same("byte map peds: 0 of 3 nil nil", peds, peds.snapshot, peds.sort)
end

-- ---- statistics, and the collector of garbage

do
  local pool = kolk.pool{name = "counted", capacity = 4, fields = "int64 a; int8 b"}
  for _ = 1, 5 do pool:alloc() end
  local stats = pool:stats()
  same("counted pool 16 16 4 4 4 4 1", stats.name, stats.kind, stats.object_size, stats.stride, stats.count,
    stats.peak, stats.capacity, stats.max_capacity, stats.failed)
  local saved
  setmetatable({}, {__gc = function() saved = pool end}) -- is called before the pool's own __gc, or after it
  pool = nil
  collectgarbage()
  collectgarbage()
  if saved then fails("counted is closed", saved.alloc, saved) end
  for _ = 1, 2000 do kolk.pool{name = "garbage", capacity = 1, fields = "int n"}:alloc() end
  -- Lua would not end what a finaliser makes at the end of the state.
  local finaliser = setmetatable({}, {__gc = function() saved = {pcall(kolk.pool, {name = "late", capacity = 1, fields = "int n"})} end})
  finaliser = nil
  collectgarbage()
  same("false kolk.pool: a finaliser cannot make one", table.unpack(saved))
end

-- ---- coroutines

do
  local stops <close> = kolk.pool{name = "stops", capacity = 1, fields = "int n", on_full = coroutine.yield}
  stops:alloc()
  local resume = coroutine.wrap(function() stops:alloc() end)
  fails("attempt to yield across a C-call boundary", resume)
  fails("outside a coroutine", stops.alloc, stops) -- on_full is called again
  local walks = coroutine.wrap(function()
    for each in stops:each() do coroutine.yield(each) end
  end)
  assert(stops:is_alive(walks()) and walks() == nil)
end

-- ---- finalisers that run within a method: a collection of this mode is a whole one

collectgarbage("generational", 1) -- whenever the memory has grown by 1 %
for _, make in ipairs{kolk.pool, kolk.slotmap} do
  local function close_at_next_collection(it)
    collectgarbage()
    setmetatable({}, {__gc = function() it:close() end})
  end
  local it = make{name = "brief", fields = "double x, y, z", max_capacity = 50000}
  for _ = 1, 40000 do (it.alloc or it.add)(it) end
  close_at_next_collection(it)
  fails("brief is closed", it.snapshot, it) -- it has asked Lua for a megabyte
  local names = table.pack()
  for i = 1, 200000 do names[i] = "x" end
  it = make{name = "brief", fields = "double x", max_capacity = 10}
  close_at_next_collection(it)
  fails("brief was closed during a walk", it:each(table.unpack(names)))
end
collectgarbage "incremental"

-- ---- so many fields that a search for each among all others would take longer than a test may; with AddressSanitizer
-- ---- (host.c), each look at a text takes as long as the text

if not host then
  local names = {}
  for i = 1, 600000 do names[i] = "a" .. i end
  local pool <close> = kolk.pool{name = "wide", capacity = 1, fields = "bool " .. table.concat(names, ",")}
  local h = pool:alloc("a600000", true)
  same("false true", pool:get(h, "a1", "a600000"))
  names[#names + 1] = "a7"
  fails("there are two fields a7", kolk.pool, {name = "wide", capacity = 1, fields = "bool " .. table.concat(names, ",")})
end

print "all promises are kept"
