-- The task of words.awk.
local lists = {}
for i = 0, 199999 do
  local key = "key" .. (i * 7919 % 10007)
  lists[key] = lists[key] or {}
  table.insert(lists[key], i .. ",")
end
local keys = {}
for key in pairs(lists) do table.insert(keys, key) end
table.sort(keys)
local hash = 0
for _, key in ipairs(keys) do
  local text = key:upper() .. ":" .. table.concat(lists[key])
  text = text:gsub("7", "seven")
  hash = (hash * 31 + #text) % 1000000007
end
print(#keys .. " " .. hash)
