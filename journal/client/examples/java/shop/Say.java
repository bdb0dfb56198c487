package shop;

import landed.Json;

/** One JSON line per step, for people and for tests. */
final class Say {
    private Say() {}

    static synchronized void event(String event, Json.Writer more) {
        System.out.println(more.put("event", event));
        System.out.flush();
    }
}
