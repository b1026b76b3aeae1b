# The task of every words.*: 200,000 numbers are appended to 10,007 lists by key, and the lists are
# hashed in order of their keys.
BEGIN {
  for (i = 0; i < 200000; ++i) {
    key = "key" (i * 7919 % 10007)
    lists[key] = lists[key] i ","
  }
  count = asorti(lists, keys)
  hash = 0
  for (k = 1; k <= count; ++k) {
    text = toupper(keys[k]) ":" lists[keys[k]]
    gsub(/7/, "seven", text)
    hash = (hash * 31 + length(text)) % 1000000007
  }
  print count, hash
}
