-- kolk_ffi.lua: kolk for LuaJIT, whose FFI calls libkolk without a line of C.
--
--     local kolk = require "kolk_ffi" {header = "kolk_ffi.h", library = "libkolk.so.1"}
--     ffi.cdef "struct bullet { float x, dx; };"
--     local bullets = kolk.pool("struct bullet", {name = "bullets", capacity = 256})
--     local bullet = bullets:alloc()                        -- a struct bullet *, all zero; nil if it is full
--     bullet.dx = 1
--     local handle = bullets:handle(bullet)                 -- a uint64_t
--     for each in bullets:each() do each.x = each.x + each.dx end
--     bullets:free(bullet)
--     print(bullets:get(handle))                            -- nil
--
-- Pointers are pointers of C: as in C, they are stale after the free, and a double free ends the process with a
-- sentence of kolk. Handles are safe. All of kolk is in kolk.C, under the names of the headers.
--
-- LuaJIT does not compile calls that take or return a struct, such as kolk_pool_get, because a handle is one. So the
-- methods compute handles themselves; only each() and runs() make one such call for each loop. It does not compile
-- calls of Lua from C either, and they are slow, so use the ready-made hooks: on_full = kolk.C.kolk_pool_evict_oldest.
local ffi, bit = require "ffi", require "bit"

local methods = {}
local metatable = {__index = methods}

function methods:alloc()
  local object = self.C.kolk_pool_alloc_zeroed(self.struct)
  if object == nil then return nil end
  return ffi.cast(self.pointer, object)
end

function methods:free(object)
  self.C.kolk_pool_free(self.struct, object)
end

-- A new object in the slot of this one, whose handles are stale from now on: all zero. nil for nil.
function methods:renew(object)
  object = self.C.kolk_pool_renew(self.struct, object)
  if object == nil then return nil end
  ffi.fill(object, self.size)
  return ffi.cast(self.pointer, object)
end

-- The generation of the object in a slot. Its low 7 bits are in the slot's byte, which is 128 more while the object lives.
local function generation_in(struct, index)
  return 128 * struct.high[index] + struct.states[index] % 128
end

-- A handle has the generation above the index, which is XORed with the pool's tag (base.h).
function methods:handle(object)
  local struct = self.struct
  local index = self.C.kolk_pool_index(struct, object)
  return 0x100000000ULL * generation_in(struct, index) + bit.bxor(index, struct.tag) % 0x100000000
end

-- The object of a handle, or nil.
function methods:get(handle)
  local struct = self.struct
  local index = bit.bxor(tonumber(bit.band(handle, 0xffffffffULL)), struct.tag) % 0x100000000
  local object = self.C.kolk_pool_at(struct, index)
  if object == nil or generation_in(struct, index) ~= bit.rshift(handle + 0ULL, 32) then return nil end
  return ffi.cast(self.pointer, object)
end

-- Frees the object of a handle: false if it is stale.
function methods:free_handle(handle)
  local object = self:get(handle)
  if object == nil then return false end
  self.C.kolk_pool_free(self.struct, object)
  return true
end

function methods:count()
  return self.C.kolk_pool_count(self.struct)
end

-- for object in pool:each() do ... end: any object may be freed meanwhile. The second result is for the loop to keep, so
-- that the collector does not end a pool that nobody else has.
function methods:each()
  local C, pointer, cursor = self.C, self.pointer, ffi.new("kolk_cursor[1]")
  cursor[0] = C.kolk_pool_each(self.struct)
  return function()
    local object = C.kolk_cursor_next(cursor)
    if object ~= nil then return ffi.cast(pointer, object) end
  end, self
end

-- for run, n in pool:runs() do for i = 0, n - 1 do ... run[i] ... end end: the fastest loop over many objects.
function methods:runs()
  local C, pointer, cursor, length = self.C, self.pointer, ffi.new("kolk_cursor[1]"), ffi.new("uint32_t[1]")
  cursor[0] = C.kolk_pool_each(self.struct)
  return function()
    local run = C.kolk_cursor_next_run(cursor, length)
    if run ~= nil then return ffi.cast(pointer, run), length[0] end
  end, self
end

function methods:clear()
  self.C.kolk_pool_clear(self.struct)
end

-- A kolk_stats.
function methods:stats()
  local stats = ffi.new("kolk_stats")
  self.C.kolk_pool_stats(self.struct, stats)
  return stats
end

-- Ends the pool. The collector does the same for a pool that nobody has any more: so keep it as long as its objects.
function methods:close()
  self.finish(ffi.gc(self.struct, nil))
end

local function read(path)
  local lines = {}
  for line in io.lines(path) do
    if line:sub(1, 1) ~= "#" then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n")
end

local loaded = {} -- libraries, which must not be unloaded before the last pool has ended

-- Loads kolk: `header` is the path of kolk_ffi.h, and `library` what ffi.load takes. Both must be of the same version.
return function(options)
  if #loaded == 0 then ffi.cdef(read(options.header)) end
  local C = ffi.load(options.library or "kolk")
  loaded[#loaded + 1] = C
  for _, name in ipairs{"kolk_pool", "kolk_pool_desc", "kolk_cursor", "kolk_stats"} do
    if C.kolk_size_of(name) ~= ffi.sizeof(name) then error("kolk_ffi.h and libkolk are of different versions", 2) end
  end

  local function finish(struct) -- objects that are alive at the end are no leak
    C.kolk_pool_clear(struct)
    C.kolk_pool_deinit(struct)
  end

  local groups = {full = "kolk_pool_full", life = "kolk_life"}

  local function check(struct, members) -- ffi.new would ignore a wrong one
    for member, value in pairs(members) do
      if not ffi.offsetof(struct, member) then error(struct .. " has no member " .. member, 3) end
      if groups[member] then check(groups[member], value) end
    end
  end

  -- A pool of objects of a type of C. The options are the members of kolk_pool_desc.
  local function pool(type_name, desc)
    check("kolk_pool_desc", desc)
    local type = ffi.typeof(type_name)
    local struct, resolved = ffi.new("kolk_pool"), ffi.new("kolk_pool_desc", desc)
    resolved.object_size, resolved.object_align = ffi.sizeof(type), ffi.alignof(type)
    if resolved.generations == C.KOLK_GENERATIONS_NONE then error("a pool without handles: use kolk.C", 2) end
    if resolved.full.overflow ~= nil then error("a pool with an overflow pool: use kolk.C", 2) end
    local status = C.kolk_pool_init(struct, resolved)
    if status ~= C.KOLK_OK then error((desc.name and desc.name .. ": " or "") .. ffi.string(C.kolk_status_text(status)), 2) end
    ffi.gc(struct, finish)
    return setmetatable({C = C, struct = struct, pointer = ffi.typeof("$ *", type), size = ffi.sizeof(type),
      finish = finish}, metatable)
  end

  return {C = C, pool = pool}
end
