import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.poprt.CompilerOptions;
import org.poprt.LogLevel;
import org.poprt.LogSubscription;
import org.poprt.Poprt;

/** Log messages: scenario 54 of tests/bindings/README.md. */
@SuppressWarnings("try") // the compiler warns of subscriptions that are only closed
class LogTest extends Scenarios {
  private Path noFolder;

  /** Makes the compiler warn: the cache folder is a file. */
  private void warn() {
    compile("affine.onnx", new CompilerOptions().inputShape("x", 2, 4).engineCaching(noFolder)).close();
  }

  private void warnElsewhere(List<Thread> threads) {
    Thread thread = new Thread(this::warn);
    threads.add(thread);
    thread.start();
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void scenario_54_log_messages() throws Exception {
    noFolder = Files.createFile(folder.resolve("cache"));
    List<String> messages = Collections.synchronizedList(new ArrayList<>());
    List<Thread> threads = Collections.synchronizedList(new ArrayList<>(List.of(Thread.currentThread())));
    LogSubscription subscription =
        Poprt.subscribeLog(
            (level, message) -> {
              assertEquals(LogLevel.WARNING, level);
              threads.forEach(thread -> assertNotSame(thread, Thread.currentThread()));
              Poprt.setLogLevel("WARNING"); // a receiver may call the library
              messages.add(message);
            });
    warn();
    warnElsewhere(threads);
    subscription.close();
    subscription.close();
    assertEquals(2, messages.size());
    assertTrue(messages.get(0).contains(noFolder.toString()), messages.get(0));
    assertEquals(messages.get(0), messages.get(1));

    Poprt.setLogLevel("OFF");
    try (LogSubscription none = Poprt.subscribeLog((level, message) -> messages.add(message))) {
      warn();
    }
    assertEquals(2, messages.size());
    Poprt.setLogLevel("WARNING");
  }

  @Test
  void scenario_54_exceptions() throws Exception {
    noFolder = Files.createFile(folder.resolve("cache"));
    RuntimeException mine = new RuntimeException("thrown by the test");
    List<Throwable> thrown = Collections.synchronizedList(new ArrayList<>());
    List<String> messages = Collections.synchronizedList(new ArrayList<>());
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler((thread, e) -> thrown.add(e));
    try (LogSubscription other = Poprt.subscribeLog((level, message) -> messages.add(message))) {
      try (LogSubscription subscription =
          Poprt.subscribeLog(
              (level, message) -> {
                throw mine;
              })) {
        warn();
        warnElsewhere(new ArrayList<>());
      }
      warn(); // one receiver is left
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(before);
    }
    assertEquals(List.of(mine, mine), thrown);
    assertSame(mine, thrown.get(0));
    assertEquals(3, messages.size());
  }

  @Test
  void aListenerMayEndItself() throws Exception {
    noFolder = Files.createFile(folder.resolve("cache"));
    CountDownLatch closed = new CountDownLatch(1);
    LogSubscription[] subscription = new LogSubscription[1];
    subscription[0] =
        Poprt.subscribeLog(
            (level, message) -> {
              subscription[0].close();
              closed.countDown();
            });
    warn();
    closed.await();
    subscription[0].close();
  }
}
