-- Nonsense: random functions of the module with random arguments, on pools of the script and of the program, open and
-- closed. Whatever happens, everything stays valid. Runs in host.c. Usage: random.lua OPERATIONS [SEED]
local kolk = require "kolk"
local operations, seed = tonumber(arg[1]), tonumber(arg[2]) or os.time()
print("seed " .. seed)
math.randomseed(seed)

local containers, numbers, handles, objects, walks, texts = {}, {}, {}, {}, {}, {}
local methods = {"alloc", "add", "new", "renew", "free", "remove", "delete", "is_alive", "get", "set", "object", "handle", "each",
  "clear", "count", "capacity", "stats", "snapshot", "restore", "sort", "close", "__gc", "nonsense"}
local names = {"x", "hp", "d", "u", "b", "n", "z", "", "x\0y", ("x"):rep(100)}
local declared = {"float x; int32_t hp", "float x", "double d; uint8 u; bool b", "int n, hp; kolk_handle h", "float x, x",
  "floot x", "", ";;", "float x[2]", "double d, n, u, x, hp", ("float x; int n"):rep(2), "bool b;", "uint8_t u; double d; int8 n"}

local known = setmetatable({}, {__mode = "k"}) -- by container: its handles, its snapshots, and the names of its fields

local function pick(list) return list[math.random(math.max(#list, 1))] end

local function keep(list, value, most)
  if value ~= nil then list[#list < most and #list + 1 or math.random(most)] = value end
end

local argument
local function table_of_anything()
  local made = {}
  for _ = 1, math.random(0, 3) do
    local key = math.random(3) == 1 and argument() or pick(names)
    if key ~= nil and key == key then made[key] = argument() end
  end
  if math.random(4) == 1 then setmetatable(made, {__index = function() return argument() end}) end
  return made
end

local function anything()
  local text = pick(texts) or ""
  local kinds = {
    function() return nil end, function() return math.random(2) == 1 end, function() return math.random(-2, 300) end,
    function() return math.random(0) end,
    function() return pick{math.mininteger, math.maxinteger, 2 ^ 63, -2 ^ 63, 1e300, 0 / 0, 1 / 0, 0.5} end,
    function() return pick(names) end, function() return text end,
    function()
      local at = math.random(math.max(#text, 1))
      return text:sub(1, at - 1) .. string.char(math.random(0, 255)) .. text:sub(at + math.random(0, 2))
    end,
    table_of_anything, function() return print end, function() return coroutine.create(print) end,
    function() return pick{io.stdout, pick(containers), pick(objects)} end, function() return pick(walks) end,
  }
  return pick(kinds)()
end

function argument()
  local choice = math.random(10)
  if choice <= 4 then return pick(handles)
  elseif choice <= 6 then return pick(names)
  elseif choice == 7 then return pick(objects)
  else return anything() end
end

local depth = 0
local step
local function on_full(pool)
  if depth > 2 then return true end
  depth = depth + 1
  for _ = 1, math.random(0, 3) do step() end
  if math.random(4) == 1 then pcall(pool.close, pool) end
  depth = depth - 1
  if math.random(8) == 1 then error(anything()) end
  return math.random(2) == 1
end

-- Like pcall, but sometimes without memory. An error that this causes here is one of the step.
local function gets_memory(...)
  host.fail(-1)
  return ...
end

local function attempt(...)
  if math.random(5) == 1 then host.fail(math.random(0, 12)) end
  return gets_memory(pcall(...))
end

local function know(container, fields)
  known[container] = known[container] or {handles = {}, texts = {}, words = {}}
  for word in (fields .. ";"):gmatch "([%w_]+)%s*[,;]" do keep(known[container].words, word, 10) end
  keep(containers, container, 12)
end

local function make()
  local choice = math.random(6)
  if choice == 1 then
    local made, number = pcall(host.make, pick{"pool", "hooked", "kept", "slotmap", "bytemap", "attached", "handleless"})
    if made then keep(numbers, number, 20) end
    return
  elseif choice == 2 then
    local fields = pick(declared)
    local pushed, container = attempt(host.push, pick(numbers), fields)
    if pushed then know(container, fields) end
    return
  end
  local size = math.random(10) == 1 and pick{3000, 2 ^ 32, -1, 0.5, "7", 70, 65, 64} or math.random(0, 6)
  local options = {name = pick{"a", "b", "c"}, fields = pick(declared), [pick{"capacity", "max_capacity", "count"}] = size}
  if math.random(4) > 1 then options.on_full = pick{"oldest", "cheapest", on_full, on_full, on_full, on_full} end
  if options.on_full == "cheapest" and math.random(4) > 1 then options.cost = options.fields:match "x" or "n" end
  if math.random(4) == 1 then options.reuse = pick{"lifo", "fifo", "lowest", "none"} end
  if math.random(20) == 1 then options[pick(names)] = argument() end
  local kind = pick{"pool", "slotmap", "bytemap"}
  if kind ~= "pool" and math.random(10) > 1 then options.on_full, options.cost, options.reuse = nil, nil, nil end
  local made, container = attempt(kolk[kind], math.random(50) == 1 and argument() or options)
  if made then know(container, options.fields) end
end

-- Arguments that make sense for a method, mostly.
local function sensible(method, of)
  local function handle() return math.random(6) == 1 and argument() or pick(of.handles) end
  local function value() return pick{math.random(0, 100), math.random(0, 100), math.random(), true, argument()} end
  local function word() return pick(of.words) end
  if method == "restore" then return pick(of.texts) or anything()
  elseif method == "sort" then return word()
  elseif method == "each" then return table.unpack({word(), word(), word()}, 1, math.random(0, 3))
  elseif method == "get" then return handle(), table.unpack({word(), word()}, 1, math.random(0, 2)) end
  local pairs = table.pack(table.unpack({word(), value(), word(), value()}, 1, 2 * math.random(0, 2)))
  if math.random(3) == 1 then pairs = {{[word() or "x"] = value()}, n = 1} end
  if method == "alloc" or method == "add" or method == "new" then return table.unpack(pairs, 1, pairs.n) end
  return handle(), table.unpack(pairs, 1, pairs.n)
end

local function use()
  local at = math.random(math.max(#containers, 1))
  local container, method = containers[at], pick(methods)
  if math.random(3) == 1 then method = container and (container.alloc and "alloc" or container.add and "add") or "new" end
  if not container or tostring(container):find "closed" and math.random(5) > 1 then
    if containers[at] == container then table.remove(containers, at) end -- a finaliser may have moved it
    return make()
  end
  if (method == "close" or method == "clear") and math.random(5) > 1 then return end
  local got, call = pcall(function() return container[method] end)
  if not got or not call then return end
  local of, arguments = known[container], table.pack()
  if math.random(4) > 1 then
    arguments = table.pack(sensible(method, of))
  else
    for i = 1, math.random(0, 5) do arguments[i], arguments.n = argument(), i end
  end
  if math.random(30) == 1 then container = argument() end
  local ok, result = attempt(call, container, table.unpack(arguments, 1, arguments.n))
  if not ok then return end
  if method == "each" then keep(walks, result, 10)
  elseif math.type(result) == "integer" then
    keep(handles, result, 60)
    keep(of.handles, result, 20)
  elseif type(result) == "string" and #result < 5000 then
    keep(texts, result, 10)
    keep(of.texts, result, 3)
  elseif type(result) == "userdata" then keep(objects, result, 20) end
end

local function use_object()
  local object, name = pick(objects), pick(names)
  if math.random(2) == 1 then name = pick{"x", "hp", "d", "n"} end
  attempt(function() return object[name] end)
  attempt(function() object[name] = pick{math.random(0, 100), argument()} end)
  pcall(tostring, object)
  pcall(function() return object == pick(objects) end)
end

local function walk()
  local next = pick(walks)
  for _ = 1, math.random(4) do
    local ok, handle = attempt(next, argument(), argument())
    if ok then keep(handles, handle, 60) end
  end
end

local function lose() -- leaves something to the collector, whose finalisers bring it back and use it
  local list = pick{containers, objects, walks}
  if #list == 0 then return end
  local lost = table.remove(list, math.random(#list))
  if math.random(2) == 1 then
    setmetatable({}, {__gc = function()
      pcall(function() lost:alloc{x = 1} end)
      pcall(function() return #lost + lost.x end)
      keep(list, lost, 12)
    end})
  end
  if math.random(3) == 1 then collectgarbage() else collectgarbage("step", math.random(100)) end
end

local function program()
  local number = pick(numbers)
  if math.random(4) > 1 then
    local made, handle = pcall(host.create, number)
    if made then keep(handles, handle, 60) end
  else
    pcall(pick{host.forget, host.finish}, number)
  end
end

-- Garbage whose finaliser does anything, wherever Lua allocates.
local function leave()
  setmetatable({}, {__gc = function()
    if depth > 2 then return end
    depth = depth + 1
    if math.random(3) == 1 then pcall(function() pick(containers):close() end) else pcall(step) end
    depth = depth - 1
  end})
end

function step()
  if math.random(3) == 1 then leave() end
  local choice = math.random(100)
  if choice <= 60 then use()
  elseif choice <= 70 then use_object()
  elseif choice <= 85 then walk()
  elseif choice <= 90 then make()
  elseif choice <= 96 then program()
  else lose() end
end

collectgarbage("incremental", 10, 1000, 6) -- goes on at each allocation
for operation = 1, operations do
  local ok, why = pcall(step)
  host.fail(-1)
  assert(ok or why == "not enough memory", why)
  if operation % 16 == 0 then host.check(table.unpack(containers)) end
end
print "nothing was broken"
