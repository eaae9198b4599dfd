-- Random operations on each kind of container, compared with tables of Lua. Runs in host.c.
-- Usage: model.lua OPERATIONS [SEED]
local kolk = require "kolk"
local operations, seed = tonumber(arg[1]), tonumber(arg[2]) or os.time()
print("seed " .. seed)
math.randomseed(seed)

local fields = {x = "float", d = "double", n = "int32_t", b = "bool", u = "uint8_t", h = "kolk_handle"}
local names = {"x", "d", "n", "b", "u", "h"}
local draw = {
  x = function() return math.random(-1000, 1000) / 8 end,
  d = function() return math.random() end,
  n = function() return math.random(-2 ^ 31 | 0, 2 ^ 31 - 1 | 0) end,
  b = function() return math.random(2) == 1 end,
  u = function() return math.random(0, 255) end,
  h = function() return math.random(0) end,
}

local function draw_fields()
  local values = {}
  for _, name in ipairs(names) do
    if math.random(2) == 1 then values[name] = draw[name]() end
  end
  return values
end

local function one_of(keys) -- a key of a table, or nil
  local all = {}
  for key in pairs(keys) do all[#all + 1] = key end
  table.sort(all)
  return all[math.random(math.max(#all, 1))]
end

local function copy(objects)
  local copied = {}
  for handle, values in pairs(objects) do
    copied[handle] = {}
    for name, value in pairs(values) do copied[handle][name] = value end
  end
  return copied
end

local function default(name) if name == "b" then return false else return 0 end end

-- A container, and what it should be: its live objects by handle, and their order of birth.
local function run(what, make, slots, options)
  local declared = {}
  for _, name in ipairs(names) do declared[#declared + 1] = fields[name] .. " " .. name end
  options.name, options.fields = what, table.concat(declared, "; ")
  local it <close> = make(options)
  local create, remove = it.alloc or it.add or it.new, it.free or it.remove or it.delete
  local live, dead, births, saved = {}, {}, {}, nil

  local function count()
    local n = 0
    for _ in pairs(live) do n = n + 1 end
    return n
  end

  local function compare()
    assert(#it == count())
    local seen = {}
    for handle, x, d, n, b, u, h in it:each("x", "d", "n", "b", "u", "h") do
      assert(live[handle] and not seen[handle], "a walk visits each live object once")
      seen[handle] = true
      local values = {x = x, d = d, n = n, b = b, u = u, h = h}
      for name, value in pairs(values) do assert(live[handle][name] == value, name) end
    end
    for handle in pairs(live) do assert(seen[handle] and it:is_alive(handle)) end
    for handle in pairs(dead) do assert(not it:is_alive(handle) and it:get(handle, "x") == nil) end
    host.check(it)
  end

  local function die(handle)
    live[handle], dead[handle] = nil, true
    for i, born in ipairs(births) do
      if born == handle then table.remove(births, i) break end
    end
  end

  local function be_born(handle, values)
    assert(not live[handle])
    dead[handle] = nil -- handles of byte maps come again
    for _, name in ipairs(names) do if values[name] == nil then values[name] = default(name) end end
    live[handle] = values
    births[#births + 1] = handle
  end

  for operation = 1, operations do
    local choice, handle = math.random(100), one_of(live)
    if choice <= 45 then
      local values = draw_fields()
      local made = create(it, values)
      if count() == slots then
        if options.on_full == "oldest" then die(births[1])
        elseif options.on_full == "cheapest" then
          local cheapest, least
          for each, each_values in pairs(live) do
            if not least or each_values.n < least then least = each_values.n end
            if not it:is_alive(each) then cheapest = each end
          end
          assert(live[cheapest].n == least)
          die(cheapest)
        else assert(made == nil) end
      end
      if made then
        be_born(made, values)
      else
        assert(count() == slots)
      end
    elseif choice <= 50 and handle and it.renew then
      local values = draw_fields()
      local made = it:renew(handle, values)
      die(handle)
      be_born(made, values)
    elseif choice <= 70 and handle then
      assert(remove(it, math.random(2) == 1 and it:object(handle) or handle))
      die(handle)
    elseif choice <= 80 and handle then
      local values = draw_fields()
      assert(it:set(handle, values))
      for name, value in pairs(values) do live[handle][name] = value end
    elseif choice <= 90 and handle then
      local object, name = it:object(handle), names[math.random(#names)]
      object[name] = draw[name]()
      live[handle][name] = object[name]
    elseif choice <= 92 then
      for each in it:each() do
        if math.random(4) == 1 then
          remove(it, each)
          die(each)
        end
      end
    elseif choice == 93 and what ~= "bytemap" then
      it:clear()
      for each in pairs(copy(live)) do die(each) end
    elseif choice == 94 and it.snapshot then
      saved = {text = it:snapshot(), live = copy(live), births = table.move(births, 1, #births, 1, {})}
    elseif choice == 95 and saved then
      assert(it:restore(saved.text))
      dead = {} -- the same handles are given again
      live, births = copy(saved.live), table.move(saved.births, 1, #saved.births, 1, {})
    elseif choice == 96 and it.sort then
      local name, last = names[math.random(3)], nil
      it:sort(name)
      for _, value in it:each(name) do
        assert(not last or last <= value)
        last = value
      end
    else
      local gone = one_of(dead)
      if gone then assert(not remove(it, gone) and not it:set(gone, {x = 1}) and not it:object(gone)) end
    end
    if operation % 8 == 0 then compare() end
    if operation % 500 == 0 then dead = {} end
  end
  compare()
end

run("pool", kolk.pool, 20, {capacity = 20})
run("pool", kolk.pool, 70, {max_capacity = 70, reuse = "fifo"})
run("pool", kolk.pool, 200, {capacity = 10, max_capacity = 200, reuse = "lowest"})
run("oldest", kolk.pool, 20, {capacity = 20, on_full = "oldest"})
run("cheapest", kolk.pool, 8, {capacity = 8, on_full = "cheapest", cost = "n"})
run("slotmap", kolk.slotmap, 40, {max_capacity = 40})
run("bytemap", kolk.bytemap, 50, {count = 50})
print "as the model says"
