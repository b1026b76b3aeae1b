# The task of words.awk, in threads and in a child.
def words
  lists = Hash.new { |hash, key| hash[key] = [] }
  200_000.times { |i| lists["key#{i * 7919 % 10007}"] << "#{i}," }
  hash = 0
  lists.keys.sort.each do |key|
    text = "#{key.upcase}:#{lists[key].join}".gsub("7", "seven")
    hash = (hash * 31 + text.length) % 1_000_000_007
  end
  "#{lists.size} #{hash}"
end

$stdout.sync = true
2.times.map { Thread.new { words } }.each { |thread| puts thread.value }
GC.compact if GC.respond_to?(:compact)
child = fork { puts words; exit 3 }
Process.wait(child)
puts "child #{$?.exitstatus}"
