import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.Deflater;

// The task of words.awk, in four threads, and memory outside of Java's heap.
public class Words {
  static String words() {
    Map<String, StringBuilder> lists = new TreeMap<>();
    for (int i = 0; i < 200000; ++i) {
      String key = "key" + i * 7919L % 10007;
      lists.computeIfAbsent(key, unused -> new StringBuilder()).append(i).append(',');
    }
    long hash = 0;
    for (Map.Entry<String, StringBuilder> list : lists.entrySet()) {
      String text = list.getKey().toUpperCase() + ":" + list.getValue();
      hash = (hash * 31 + text.replace("7", "seven").length()) % 1000000007;
    }
    return lists.size() + " " + hash;
  }

  static int deflated() {
    int bytes = 0;
    for (int i = 1; i < 100; ++i) {
      Deflater deflater = new Deflater();
      deflater.setInput(new byte[i * 1000]);
      deflater.finish();
      bytes += deflater.deflate(new byte[i * 1000 + 100]);
      deflater.end();
    }
    return bytes;
  }

  public static void main(String[] arguments) throws Exception {
    List<Thread> threads = new ArrayList<>();
    List<String> found = new ArrayList<>();
    for (int i = 0; i < 4; ++i) {
      threads.add(new Thread(() -> {
        String text = words();
        synchronized (found) {
          found.add(text);
        }
      }));
    }
    for (Thread thread : threads) thread.start();
    for (Thread thread : threads) thread.join();
    for (String text : found) System.out.println(text);
    System.out.println(deflated() + " " + java.nio.ByteBuffer.allocateDirect(1 << 20).capacity());
    System.exit(3);
  }
}
