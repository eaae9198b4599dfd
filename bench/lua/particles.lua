-- 10,000 particles, each of which moves in every frame. 200 of them die in each frame, and as many are born. Prints the
-- median and the longest frame in milliseconds of processor time, and a sum, which is the same in each way.
-- Usage: lua particles.lua tables|module|ffi [LIBKOLK.so [KOLK_FFI.h]]
local way, library, header = arg[1], arg[2], arg[3]
local ALIVE, LIFE, FRAMES = 10000, 50, 1000
local ways = {}

-- A table for each particle, in an array without holes.
function ways.tables()
  local particles, n = {}, 0
  local function born(x, y, dx, dy, left)
    n = n + 1
    particles[n] = {x = x, y = y, dx = dx, dy = dy, left = left}
  end
  local function update()
    local i = 1
    while i <= n do
      local it = particles[i]
      it.x, it.y, it.left = it.x + it.dx, it.y + it.dy, it.left - 1
      if it.left == 0 then
        particles[i], particles[n] = particles[n], particles[i]
        particles[n] = nil
        n = n - 1
      else
        i = i + 1
      end
    end
  end
  local function sum()
    local x = 0
    for i = 1, n do x = x + particles[i].x end
    return x
  end
  return born, update, sum
end

-- The module for Lua 5.4.
function ways.module()
  local fields = "float x, y, dx, dy; int left"
  local pool = require("kolk").pool{name = "particles", capacity = ALIVE + 1000, fields = fields}
  local function born(x, y, dx, dy, left)
    pool:alloc("x", x, "y", y, "dx", dx, "dy", dy, "left", left)
  end
  local function update()
    for it, x, y, dx, dy, left in pool:each("x", "y", "dx", "dy", "left") do
      if left == 1 then pool:free(it) else pool:set(it, "x", x + dx, "y", y + dy, "left", left - 1) end
    end
  end
  local function sum()
    local all = 0
    for _, x in pool:each "x" do all = all + x end
    return all
  end
  return born, update, sum
end

-- LuaJIT's FFI.
function ways.ffi()
  package.path = "bindings/lua/?.lua;" .. package.path
  local kolk = require "kolk_ffi" {header = header, library = library}
  require("ffi").cdef "struct particle { float x, y, dx, dy; int left; };"
  local pool = kolk.pool("struct particle", {name = "particles", capacity = ALIVE + 1000})
  local function born(x, y, dx, dy, left)
    local it = pool:alloc()
    it.x, it.y, it.dx, it.dy, it.left = x, y, dx, dy, left
  end
  local function update()
    for run, n in pool:runs() do
      for i = 0, n - 1 do
        local it = run + i
        it.x, it.y, it.left = it.x + it.dx, it.y + it.dy, it.left - 1
        if it.left == 0 then pool:free(it) end
      end
    end
  end
  local function sum()
    local all = 0
    for it in pool:each() do all = all + it.x end
    return all
  end
  return born, update, sum
end

local born, update, sum = ways[way]()
local times = {}
for i = 1, ALIVE do born(i % 64, i % 32, 0.5, 0.25, i % LIFE + 1) end
for frame = 1, FRAMES do
  local begin = os.clock()
  update()
  for i = 1, ALIVE / LIFE do born(i % 64, i % 32, 0.5, 0.25, LIFE) end
  times[frame] = (os.clock() - begin) * 1000
end
table.sort(times)
print(string.format("%.2f %.2f %d", times[FRAMES / 2], times[FRAMES], sum()))
