-- The rules of examples/scripted: a burst emits two sparkles in each frame, and each sparkle lives for three frames.
local bursts = kolk.pool{name = "bursts", capacity = 4, fields = "float x, y; int left"}
bursts:alloc{x = 10, y = 20, left = 3}
local first

function frame()
  for burst, x, y, left in bursts:each("x", "y", "left") do
    for side = -1, 1, 2 do
      local sparkle = sparkles:alloc{x = x, y = y, dx = side, dy = 0.5, frames_left = 3} -- a handle: an integer
      if not sparkle then print "no room for a sparkle" end
      first = first or sparkle
    end
    if left == 1 then bursts:free(burst) else bursts:set(burst, "left", left - 1) end
  end
  for sparkle, frames_left in sparkles:each "frames_left" do
    if frames_left == 0 then sparkles:free(sparkle) else sparkles:set(sparkle, "frames_left", frames_left - 1) end
  end
  if sparkles:is_alive(first) then
    local it = sparkles:object(first)
    it.dy = it.dy - 1 -- the first one falls
  else
    print "the first sparkle is gone"
  end
end
