-- Allocates strings of sizes that no other block has, wherever Lua code can run, and says which
-- stack Lua itself sees at each: a line "size file:line file:line ...", innermost first.
--
--   allocating_app.lua FILE SEED COUNT

local path, seed, count = arg[1], tonumber(arg[2]), tonumber(arg[3])
math.randomseed(seed)

local keep, expected = {}, {}
local next_size = 100001
local resumer_of = setmetatable({}, { __mode = "k" })

local function add_levels(lines, thread, level)
  while true do
    local info
    if thread then info = debug.getinfo(thread, level, "Sl")
    else info = debug.getinfo(level + 1, "Sl") end
    if not info then return end
    if info.what ~= "C" then
      local file = info.source:sub(1, 1) == "@" and info.source:sub(2) or info.short_src
      lines[#lines + 1] = file .. ":" .. info.currentline
    end
    level = level + 1
  end
end

-- The calling function's stack, and those of the coroutines that have resumed its own.
function stack_of_caller()
  next_size = next_size + 24
  local lines = {}
  add_levels(lines, nil, 2)
  local thread = coroutine.running()
  while resumer_of[thread] do
    thread = resumer_of[thread]
    add_levels(lines, thread, 0)
  end
  expected[#expected + 1] = next_size .. "\t" .. table.concat(lines, "\t")
  return next_size
end

local function resume(thread, ...)
  resumer_of[thread] = coroutine.running()
  local results = table.pack(coroutine.resume(thread, ...))
  resumer_of[thread] = nil
  return table.unpack(results, 1, results.n)
end

local function plain(go)
  keep[#keep + 1] = string.rep("x", stack_of_caller())
  go()
end

local function several_lines(go)
  -- The line of a call is that of its name.
  keep[
    #keep + 1
  ] = string.rep("x", stack_of_caller(
  ),
    ""
  )
  go(
  )
end

local Box = {}
Box.__index = function(_, name)
  keep[#keep + 1] = string.rep("x", stack_of_caller())
  return Box[name]
end
Box.__add = function(a) keep[#keep + 1] = string.rep("x", stack_of_caller()) return a end
Box.__concat = function(a) keep[#keep + 1] = string.rep("x", stack_of_caller()) return a end
Box.__eq = function() keep[#keep + 1] = string.rep("x", stack_of_caller()) return true end
Box.__lt = function() keep[#keep + 1] = string.rep("x", stack_of_caller()) return true end
Box.__newindex = function() keep[#keep + 1] = string.rep("x", stack_of_caller()) end
Box.__len = function() keep[#keep + 1] = string.rep("x", stack_of_caller()) return 1 end
Box.__call = function(_, go) keep[#keep + 1] = string.rep("x", stack_of_caller()) go() end
Box.__close = function() keep[#keep + 1] = string.rep("x", stack_of_caller()) end
Box.__gc = function() keep[#keep + 1] = string.rep("x", stack_of_caller()) end
function Box:method(go)
  keep[#keep + 1] = string.rep("x", stack_of_caller())
  go()
end
local function new_box() return setmetatable({}, Box) end

local function of_box(go)
  local box, other = new_box(), new_box()
  box:method(go)
  box.new_field = box + 1
  local _ = box .. "x", box == other, box < other, #box
  box(go)
end

local function closing(go)
  local box <close> = new_box()
  keep[#keep + 1] = string.rep("x", stack_of_caller())
  go()
end

local function closing_by_error(go)
  pcall(function()
    local box <close> = new_box()
    go()
    error("left")
  end)
end

local function finalizing(go)
  new_box()
  collectgarbage()
  go()
end

local function by_sort(go)
  table.sort({ 3, 1, 2 }, function(a, b)
    keep[#keep + 1] = string.rep("x", stack_of_caller())
    return a < b
  end)
  go()
end

local function by_gsub(go)
  string.gsub("abc", "%w", function(c)
    keep[#keep + 1] = string.rep("x", stack_of_caller())
    return c
  end)
  string.gsub("a", "a", function() go() end)
end

local function by_format(go)
  local shown = setmetatable({}, { __tostring = function()
    local text = string.rep("x", stack_of_caller())
    return text -- else it would be a tail call
  end })
  keep[#keep + 1] = tostring(shown)
  keep[#keep + 1] = string.format("%s!", shown)
  go()
end

local function protected(go)
  pcall(function()
    keep[#keep + 1] = string.rep("x", stack_of_caller())
    go()
    error({})
  end)
  xpcall(function() local _ = nil + 1 end, function()
    keep[#keep + 1] = string.rep("x", stack_of_caller())
  end)
  keep[#keep + 1] = string.rep("x", stack_of_caller())
end

local function tail(go, n)
  if n > 0 then return tail(go, n - 1) end
  keep[#keep + 1] = string.rep("x", stack_of_caller())
  go()
end
local function by_tail_call(go) tail(go, 3) end

local function each(state, last)
  keep[#keep + 1] = string.rep("x", stack_of_caller())
  if last < state then return last + 1 end
end
local function by_iterator(go)
  for i in each, 2, 0 do
    keep[#keep + 1] = string.rep("x", stack_of_caller())
    if i == 2 then go() end
  end
end

local function by_varargs(go, ...)
  if select("#", ...) < 5 then return by_varargs(go, 1, ...) end
  keep[#keep + 1] = string.rep("x", stack_of_caller())
  go(...)
end

local function deep(go, n)
  if n == 0 then
    keep[#keep + 1] = string.rep("x", stack_of_caller())
    go()
  else
    deep(go, n - 1)
  end
  return n
end
local function by_recursion(go) deep(go, math.random(12)) end

local function by_hook(go)
  debug.sethook(function()
    debug.sethook()
    keep[#keep + 1] = string.rep("x", stack_of_caller())
  end, "", 1)
  local _ = #keep
  debug.sethook()
  go()
end

-- Code that lives while it runs, at addresses where other code was before; with more lines than a
-- difference of a byte tells, and more instructions than there are without a mark.
local function made(go)
  local n = math.random(40)
  local filler = {}
  for i = 1, math.random(200) do filler[i] = "local x = keep == " .. i .. " and 1" end
  if #filler > 150 then filler = { string.rep("\n", 300) } end
  local text = string.rep("\n", n) .. "local keep, stack_of_caller, go = ...\ndo\n"
    .. table.concat(filler, "\n", 1, math.min(#filler, 100)) .. "\nend\n"
    .. "local function inner()\n"
    .. "  keep[#keep + 1] = string.rep('x', stack_of_caller())\n  go()\nend\ninner()\n"
  local names = { "@made_" .. n % 7 .. ".lua", "=made", text }
  assert(load(text, names[math.random(3)]))(keep, stack_of_caller, go)
  if n % 5 == 0 then collectgarbage() end
end

local function in_coroutine(go)
  local thread = coroutine.create(function(x)
    keep[#keep + 1] = string.rep("x", stack_of_caller())
    x = coroutine.yield(x)
    keep[#keep + 1] = string.rep("x", stack_of_caller())
    go()
    pcall(function()
      coroutine.yield()
      keep[#keep + 1] = string.rep("x", stack_of_caller())
      pcall(coroutine.yield)
      go()
      keep[#keep + 1] = string.rep("x", stack_of_caller())
    end)
    keep[#keep + 1] = string.rep("x", stack_of_caller())
    error("ended")
  end)
  while coroutine.status(thread) ~= "dead" do
    resume(thread, 1)
    keep[#keep + 1] = string.rep("x", stack_of_caller())
  end
end

local function by_wrap(go)
  local outer = coroutine.running()
  local generate = coroutine.wrap(function(x)
    resumer_of[coroutine.running()] = outer
    keep[#keep + 1] = string.rep("x", stack_of_caller())
    coroutine.yield(x)
    keep[#keep + 1] = string.rep("x", stack_of_caller())
    go()
  end)
  generate(1)
  generate()
end

local function in_generator(go)
  local thread = coroutine.create(function()
    for i = 1, 3 do
      keep[#keep + 1] = string.rep("x", stack_of_caller())
      coroutine.yield(i)
    end
    go()
  end)
  local other = coroutine.create(function()
    for _ = 1, 4 do
      resume(thread)
      keep[#keep + 1] = string.rep("x", stack_of_caller())
      coroutine.yield()
    end
  end)
  for _ = 1, 5 do resume(other) end
end

local function closing_coroutine(go)
  local thread = coroutine.create(function()
    local box <close> = new_box()
    coroutine.yield()
  end)
  resume(thread)
  resumer_of[thread] = coroutine.running()
  coroutine.close(thread)
  resumer_of[thread] = nil
  go()
end

local steps = {
  plain, several_lines, of_box, closing, closing_by_error, finalizing, by_sort, by_gsub, by_format,
  protected, by_tail_call, by_iterator, by_varargs, by_recursion, by_hook, made, in_coroutine,
  by_wrap, in_generator, closing_coroutine,
}

local function walk(depth)
  if depth == 0 then return function() end end
  local step, inner = steps[math.random(#steps)], walk(depth - 1)
  return function(...) step(inner) end
end

while #expected < count do
  walk(math.random(5))()
end
local file = assert(io.open(path, "w"))
file:write(table.concat(expected, "\n"))
file:close()
os.exit(0, false) -- so that the blocks are still there in the recording
