-- What bindings/lua/kolk_ffi.lua promises to programs of LuaJIT. Usage: luajit ffi.lua LIBKOLK.so KOLK_FFI.h [SEED]
package.path = "bindings/lua/?.lua;" .. package.path
local ffi = require "ffi"
local kolk = require "kolk_ffi" {header = arg[2], library = arg[1]}
local seed = tonumber(arg[3]) or os.time()
print("seed " .. seed)
math.randomseed(seed)
ffi.cdef "struct bullet { float x, dx; int32_t n; };"

-- One object, as in the comment at the top of kolk_ffi.lua.
local bullets = kolk.pool("struct bullet", {name = "bullets", capacity = 2})
local bullet = bullets:alloc()
assert(ffi.istype("struct bullet *", bullet) and bullet.x == 0 and bullet.n == 0)
bullet.dx, bullet.n = 1, 7
local handle = bullets:handle(bullet)
assert(ffi.istype("uint64_t", handle) and bullets:get(handle) == bullet)
assert(handle == kolk.C.kolk_handle_pack(kolk.C.kolk_pool_handle_of(bullets.struct, bullet)), "handles are those of C")
for each in bullets:each() do each.x = each.x + each.dx end
assert(bullet.x == 1 and bullets:count() == 1)
assert(bullets:renew(nil) == nil and bullets:renew(bullet) == bullet, "the next life, in the same slot")
assert(bullets:get(handle) == nil and bullet.x == 0 and bullet.n == 0 and bullets:count() == 1)
handle = bullets:handle(bullet)
assert(bullets:get(handle) == bullet)
bullets:free(bullet)
assert(bullets:get(handle) == nil and not bullets:free_handle(handle))
local again = bullets:alloc()
assert(again == bullet and again.n == 0 and bullets:get(handle) == nil, "the slot is used again, and is all zero")
assert(bullets:alloc() and bullets:alloc() == nil and bullets:stats().failed == 1)
bullets:clear()
assert(bullets:count() == 0)
bullets:close()

local ok, said = pcall(kolk.pool, "struct bullet", {name = "bad"})
assert(not ok and said:find("bad: capacity is 0, and there is no max_capacity to grow to", 1, true), said)
ok, said = pcall(kolk.pool, "struct bullet", {name = "bad", capcity = 1})
assert(not ok and said:find("kolk_pool_desc has no member capcity", 1, true), said)
ok, said = pcall(kolk.pool, "struct bullet", {capacity = 1, generations = "KOLK_GENERATIONS_NONE"})
assert(not ok and said:find("without handles", 1, true), said)
ok, said = pcall(kolk.pool, "struct bullet", {capacity = 1, full = {overflow = kolk.pool("struct bullet", {capacity = 1}).struct}})
assert(not ok and said:find("an overflow pool: use kolk.C", 1, true), said)

-- The loop keeps the pool. bindings.sh looks for reports of leaks: an object that is alive
-- when the collector ends its pool is none.
local function fill()
  local filled = kolk.pool("struct bullet", {name = "filled", capacity = 300, debug = "sites"})
  for n = 1, 300 do filled:alloc().n = n end
  return filled
end
local visited = 0
for each in fill():each() do
  collectgarbage()
  visited = visited + each.n
end
for run, n in fill():runs() do
  collectgarbage()
  for i = 0, n - 1 do visited = visited + run[i].n end
end
assert(visited == 2 * 45150)

local oldest = kolk.pool("struct bullet", {name = "oldest", capacity = 1,
  full = {on_full = kolk.C.kolk_pool_evict_oldest}})
handle = oldest:handle(oldest:alloc())
assert(oldest:alloc() and oldest:get(handle) == nil, "a ready-made hook")

-- Random operations against a model, with and without the compiler, so that traces and the interpreter agree.
for _, mode in ipairs{"on", "off"} do
  jit[mode]()
  local pool = kolk.pool("struct bullet", {name = mode, capacity = 10, max_capacity = 300, reuse = "KOLK_REUSE_LOWEST"})
  local other = kolk.pool("struct bullet", {name = "other", capacity = 300})
  local live, dead, count = {}, {}, 0
  for operation = 1, 20000 do
    local at = math.random(math.max(#live, 1))
    if math.random(100) <= 52 then
      local made = pool:alloc()
      assert((made == nil) == (count == 300))
      if made ~= nil then
        assert(made.n == 0)
        made.n = operation
        live[#live + 1], count = {handle = pool:handle(made), n = operation}, count + 1
      end
    elseif #live > 0 then
      local one = live[at]
      assert(pool:get(one.handle).n == one.n and other:get(one.handle) == nil)
      if operation % 8 < 2 then
        local again = pool:renew(pool:get(one.handle))
        assert(again.n == 0 and pool:get(one.handle) == nil and pool:count() == count)
        dead[math.random(100)], one.handle = one.handle, pool:handle(again)
      end
      if operation % 2 == 0 then assert(pool:free_handle(one.handle)) else pool:free(pool:get(one.handle)) end
      dead[math.random(100)] = one.handle
      live[at] = live[#live]
      live[#live], count = nil, count - 1
    end
    for _, gone in pairs(dead) do assert(pool:get(gone) == nil) end
    if operation % 50 == 0 then
      local sum, walked, visited, in_runs = 0, 0, 0, 0
      for _, one in ipairs(live) do sum = sum + one.n end
      for each in pool:each() do walked, visited = walked + each.n, visited + 1 end
      for run, n in pool:runs() do
        for i = 0, n - 1 do in_runs = in_runs + run[i].n end
      end
      assert(sum == walked and sum == in_runs and visited == count and pool:count() == count)
      assert(kolk.C.kolk_pool_is_valid(pool.struct))
    end
  end
  for each in pool:each() do pool:free(each) end
  assert(pool:count() == 0)
  local budget = ffi.new "kolk_budget"
  for _ = 1, 100 do kolk.pool("struct bullet", {name = "garbage", capacity = 10, budget = budget}):alloc() end
  assert(kolk.C.kolk_budget_used(budget) > 0)
  collectgarbage()
  assert(kolk.C.kolk_budget_used(budget) == 0, "the collector ends pools")
end
print "all promises are kept"
