package shop;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/** Command line flags of the form --name value. */
final class Flags {
    private final Map<String, String> given = new HashMap<>();

    Flags(String[] args) {
        for (int i = 0; i < args.length; i += 2) {
            if (!args[i].startsWith("--") || i + 1 == args.length) {
                throw new IllegalArgumentException("flags are --name value: " + args[i]);
            }
            given.put(args[i].substring(2), args[i + 1]);
        }
    }

    String text(String name) {
        String value = given.get(name);
        if (value == null) {
            throw new IllegalArgumentException("--" + name + " is needed");
        }
        return value;
    }

    String text(String name, String otherwise) {
        return given.getOrDefault(name, otherwise);
    }

    int number(String name, int otherwise) {
        return Integer.parseInt(text(name, Integer.toString(otherwise)));
    }

    /** Whole milliseconds. */
    Duration millis(String name, long otherwise) {
        return Duration.ofMillis(Long.parseLong(text(name, Long.toString(otherwise))));
    }
}
