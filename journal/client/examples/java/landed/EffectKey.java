package landed;

import java.nio.charset.StandardCharsets;
import java.util.StringJoiner;

/**
 * The idempotency key of one effect. Mint it once, outside of every retry, from where the call
 * stands: the run, the step, the operation, and the business object if one step acts on several.
 * Never from arguments, time, attempts, a model's words or a framework's call id: all of these are
 * new on a retry, and then so is the key.
 */
public final class EffectKey {
    private static final String PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:";
    private static final int MAX_BYTES = 255;

    private final String rootRun;
    private final String step;
    private final String operation;
    private final String text;

    private EffectKey(String rootRun, String step, String operation, String text) {
        this.rootRun = rootRun;
        this.step = step;
        this.operation = operation;
        this.text = text;
    }

    /** Derives the key. item may be empty. rootRun outlives every restart: an order, a thread, a job. */
    public static EffectKey derive(String rootRun, String step, String operation, String item) {
        StringJoiner key = new StringJoiner("/");
        for (String part : item.isEmpty() ? new String[] {rootRun, step, operation} : new String[] {rootRun, step, operation, item}) {
            if (part.isBlank()) {
                throw new IllegalArgumentException("a key needs root run, step and operation");
            }
            key.add(escape(part));
        }
        if (key.length() > MAX_BYTES) {
            throw new IllegalArgumentException("the key has more than 255 bytes: shorten its parts");
        }
        return new EffectKey(rootRun, step, operation, key.toString());
    }

    /** The key that a person's correction put in this one's place. */
    EffectKey successor(String successor) {
        return new EffectKey(rootRun, step, operation, successor);
    }

    public String rootRun() {
        return rootRun;
    }

    public String step() {
        return step;
    }

    public String operation() {
        return operation;
    }

    @Override
    public String toString() {
        return text;
    }

    private static String escape(String part) {
        StringBuilder out = new StringBuilder();
        for (byte b : part.getBytes(StandardCharsets.UTF_8)) {
            if (b >= 0 && PLAIN.indexOf(b) >= 0) {
                out.append((char) b);
            } else {
                out.append(String.format("%%%02X", b & 0xff));
            }
        }
        return out.toString();
    }
}
