# The task of words.awk, in a child and in its parent.
use strict;
use warnings;

sub Words {
  my %lists;
  push @{$lists{"key" . ($_ * 7919 % 10007)}}, "$_," for 0 .. 199999;
  my $hash = 0;
  for my $key (sort keys %lists) {
    my $text = uc($key) . ":" . join("", @{$lists{$key}});
    $text =~ s/7/seven/g;
    $hash = ($hash * 31 + length $text) % 1000000007;
  }
  return scalar(keys %lists) . " $hash\n";
}

$| = 1;
my $child = fork();
print Words();
exit 3 if $child == 0;
waitpid($child, 0);
print "child ", $? >> 8, "\n";
