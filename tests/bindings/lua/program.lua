-- What kolk_lua.h promises to programs with pools of their own. Runs in host.c.
local kolk = require "kolk"
local fields = "float x; int32_t hp"

local function fails(words, call, ...)
  local ok, said = pcall(call, ...)
  assert(not ok and tostring(said):find(words, 1, true), tostring(said) .. " was said instead of: " .. words)
end

for _, what in ipairs{"pool", "slotmap", "bytemap", "kept"} do
  local number = host.make(what)
  local it = host.push(number, fields)
  local theirs = host.create(number)
  assert(it:get(theirs, "x") == -1 and it:get(theirs, "hp") == 100)
  it:set(theirs, "hp", 99)
  assert(it == host.push(number, fields), "one userdata for a pool")
  fails("it was pushed with other fields: forget it first", host.push, number, "float x")
  local create, remove = it.alloc or it.add or it.new, it.free or it.remove or it.delete
  local ours = create(it, {x = 2})
  host.check()
  assert(remove(it, theirs) and it:get(ours, "x") == 2)
  theirs = create(it, {})
  if what == "kept" then assert(it:get(theirs, "hp") == 99, "contents are kept") end
  if what == "pool" then assert(it:get(theirs, "hp") == 0, "a new object is all zero") end
  local thing, next = it:object(ours), it:each "x"
  assert(next())
  if it.snapshot then
    fails("only the program may save and restore its own objects", it.snapshot, it)
    fails("only the program may save and restore its own objects", it.restore, it, "")
  end
  host.forget(number)
  host.forget(number)
  fails(what .. " is closed", create, it, {})
  fails(what .. " is closed", remove, it, ours)
  fails(what .. " is closed", function() return #it end)
  fails(what .. ": it is closed", function() return thing.x end)
  fails(what .. " was closed during a walk", next)
  local again = host.push(number, "float x") -- with other fields
  assert(again ~= it and #again == 2 and again:get(ours, "x") == 2)
  fails("there is no field hp", again.get, again, ours, "hp")
  again:close() -- ends only the script's access
  fails(what .. " is closed", again.clear, again)
  again = host.push(number, fields)
  assert(#again == 2)
  host.finish(number)
  fails(what .. " is closed", again.clear, again)
end

-- Fields must fit into the objects, and there must be handles.
local number = host.make "pool"
fails("the fields take 40 bytes, an object has 32", host.push, number, "double a, b, c; float x; double d")
fails("a type was expected here: flaot x", host.push, number, "flaot x")
host.finish(number)
for _, what in ipairs{"handleless", "barren"} do -- itself, or its overflow pool
  number = host.make(what)
  fails("the pool has no handles: KOLK_GENERATIONS_NONE", host.push, number, fields)
  host.finish(number)
end

-- Hooks of the program run; objects in its overflow pool are found, and freed.
number = host.make "hooked"
local hooked, handles, resets = host.push(number, fields), {}, host.resets()
for n = 1, 32 do handles[n] = assert(hooked:alloc{hp = n}) end
assert(not hooked:alloc())
for n = 1, 32 do assert(hooked:get(handles[n], "hp") == n) end
for n = 1, 32 do assert(hooked:free(handles[n]) and not hooked:free(handles[n])) end
assert(host.resets() == resets + 16, "the overflow pool has no hook")
host.finish(number)

-- Each overflow pool keeps what its own descriptor says.
number = host.make "mixed"
local mixed = host.push(number, fields)
for _ = 1, 2 do
  local keeping = {}
  for n = 1, 32 do handles[n] = assert(mixed:alloc{x = n}) end
  for n = 1, 32 do keeping[n] = mixed:get(handles[n], "hp") end
  for n = 1, 32 do assert(keeping[n] == (n > 16 and 1 or 0)) end
  for n = 1, 32 do mixed:free(handles[n]) end
end
host.finish(number)

-- A byte map that is attached to be read.
number = host.make "attached"
local attached = host.push(number, fields)
assert(#attached == 8 and attached:get(4 << 8 | 5, "x") == 4)
local thing = attached:object(4 << 8 | 5)
for _, write in ipairs{function() attached:new() end, function() attached:delete(5) end, function() attached:clear() end,
  function() attached:set(5, "x", 1) end, function() thing.x = 1 end} do
  fails("the pool was attached to be read", write)
end
assert(thing.hp == 4)
host.finish(number)

-- Without memory for the n-th request of Lua, a program ends with an error, and nothing is lost or broken.
local function use(kind)
  local size = kind == "bytemap" and "count" or "capacity"
  local function make_room(pool) for each in pool:each() do return pool:free(each) end end
  local it <close> = kolk[kind]{name = "swept", fields = "float x; int n; bool b", [size] = 4,
    on_full = kind == "pool" and make_room or nil}
  local create, last = it.alloc or it.add or it.new, nil
  for n = 1, 5 do last = create(it, {x = n}) or last end
  local object = it:object(last)
  object.n = tostring(object):len() + #tostring(it) + it:stats().count
  for each, n in it:each "n" do it:set(each, "x", n) end
  if it.snapshot then assert(it:restore(it:snapshot())) end
  local made = host.make(kind)
  local pushed, theirs = pcall(host.push, made, fields)
  if pushed then host.create(made) end
  host.finish(made)
  if not pushed then error(theirs, 0) end
end

collectgarbage "stop"
host.budget(2 ^ 30 | 0)
for _, kind in ipairs{"pool", "slotmap", "bytemap"} do
  local n, ok, said = 0, nil, nil
  repeat
    host.fail(n)
    ok, said = pcall(use, kind)
    host.fail(-1)
    assert(ok or said == "not enough memory", said)
    host.check()
    n = n + 1
  until ok
  assert(n > 20, "requests fail")
end
collectgarbage "restart"

do -- a step for which Lua has no room is not lost
  local it <close> = kolk.pool{name = "walked", fields = "int n", capacity = 2}
  for n = 1, 2 do it:alloc("n", n) end
  local names = {}
  for i = 1, 5000 do names[i] = "n" end
  local next = it:each(table.unpack(names))
  local failures, got, n = 0, nil, nil
  repeat
    for _ = 1, 5 do collectgarbage() end -- which shrinks the stack
    host.fail(failures)
    got, _, n = pcall(next)
    host.fail(-1)
    failures = failures + 1
  until got
  assert(failures > 1 and n == 1 and select(2, next()) == 2)
end

-- A budget for the scripts' pools. Garbage is collected before a script is told that there is no memory.
host.budget(300000)
for _ = 1, 10 do kolk.pool{name = "large", fields = "double d", capacity = 20000} end
local kept <close> = kolk.slotmap{name = "kept", fields = "double d", capacity = 20000}
fails("kolk.pool: large: the budget, or one that it is part of, has too few bytes left", kolk.pool,
  {name = "large", fields = "double d", capacity = 20000})
host.budget(nil)
local free <close> = kolk.pool{name = "large", fields = "double d", capacity = 20000}

-- At the end of the state, the collector ends what is left.
number = host.make "pool"
left = host.push(number, fields)
left_pool = kolk.pool{name = "left", fields = "int n", capacity = 3}
left_pool:alloc()
setmetatable({}, {__gc = function() pcall(left_pool.alloc, left_pool) pcall(left.alloc, left) end})
host.budget(2 ^ 30 | 0) -- host.c finds it if some of it is still in use
setmetatable({}, {__gc = function()
  for _, kind in ipairs{"pool", "slotmap"} do
    pcall(coroutine.wrap(function() kolk[kind]{name = "late", fields = "int n", capacity = 1} end))
  end
end})
host.check(left_pool)
print "all promises are kept"
