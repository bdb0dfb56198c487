package landed;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * One JSON object whose members keep their exact text. It is what the worker API needs of JSON and
 * no more: read an answer, hand args and results on byte for byte, write a request. Nothing goes
 * through a number or a map type, which would round 1970670598291982290 or drop the second "a" of
 * {"a":1,"a":2}.
 */
public final class Json {
    private final Map<String, String> raw;

    private Json(Map<String, String> raw) {
        this.raw = raw;
    }

    /** Reads one object. IllegalArgumentException: it is not one JSON object in UTF-8. */
    public static Json parse(byte[] utf8) {
        JsonScanner in = new JsonScanner(decode(utf8));
        in.space();
        Map<String, String> members = in.object();
        in.space();
        in.end();
        return new Json(members);
    }

    /** The exact text of a member; null if there is none or it is null. */
    public String raw(String name) {
        String text = raw.get(name);
        return "null".equals(text) ? null : text;
    }

    /** A string member, or otherwise. */
    public String string(String name, String otherwise) {
        String text = raw(name);
        return text == null ? otherwise : new JsonScanner(text).string();
    }

    /** A whole number, or otherwise. */
    public long integer(String name, long otherwise) {
        String text = raw(name);
        return text == null ? otherwise : Long.parseLong(text);
    }

    /** A true or false, false if there is none. */
    public boolean flag(String name) {
        return "true".equals(raw(name));
    }

    /** An object, empty if there is none. */
    public Json object(String name) {
        String text = raw(name);
        return text == null ? new Json(Map.of()) : new Json(new JsonScanner(text).object());
    }

    /** The objects of an array, none if there is no array. */
    public List<Json> objects(String name) {
        String text = raw(name);
        List<Json> out = new ArrayList<>();
        if (text != null) {
            for (String element : new JsonScanner(text).array()) {
                out.add(new Json(new JsonScanner(element).object()));
            }
        }
        return out;
    }

    /** The bytes of args or a result, under the name or its _base64 twin; null if there are none. */
    public byte[] content(String name) {
        String encoded = string(name + "_base64", null);
        if (encoded != null) {
            return Base64.getDecoder().decode(encoded);
        }
        String text = raw(name);
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    private static String decode(byte[] utf8) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(utf8)).toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("not UTF-8", e);
        }
    }

    /** Writes an object, members in the order of the calls. Null and "" are left out. */
    public static final class Writer {
        private final Map<String, String> members = new LinkedHashMap<>();

        public Writer put(String name, String value) {
            return value == null || value.isEmpty() ? this : raw(name, quote(value));
        }

        public Writer put(String name, long value) {
            return raw(name, Long.toString(value));
        }

        public Writer put(String name, boolean value) {
            return raw(name, Boolean.toString(value));
        }

        public Writer put(String name, List<String> values) {
            return raw(name, "[" + String.join(",", values.stream().map(Json::quote).toList()) + "]");
        }

        public Writer put(String name, Map<String, String> values) {
            Writer inner = new Writer();
            values.forEach(inner::put);
            return values.isEmpty() ? this : raw(name, inner.toString());
        }

        /** A member whose text is JSON already. Last one wins. */
        public Writer raw(String name, String json) {
            members.put(name, json);
            return this;
        }

        /** Bytes that must arrive as they are: inside if they are one JSON value, else in base64. */
        public Writer content(String name, byte[] value) {
            if (value == null) {
                return this;
            }
            try {
                String text = decode(value);
                JsonScanner in = new JsonScanner(text);
                in.value();
                in.end();
                if (!text.equals("null")) {
                    return raw(name, text);
                }
            } catch (IllegalArgumentException e) {
                // not JSON: it travels in base64
            }
            return raw(name + "_base64", quote(Base64.getEncoder().encodeToString(value)));
        }

        public byte[] bytes() {
            return toString().getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String toString() {
            StringBuilder out = new StringBuilder();
            members.forEach((name, text) -> out.append(out.isEmpty() ? "{" : ",").append(quote(name)).append(':').append(text));
            return (out.isEmpty() ? "{" : out).toString() + "}";
        }
    }

    /** Quotes a string. A lone surrogate stays visible as an escape: UTF-8 would make it a "?". */
    static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            boolean pair = Character.isHighSurrogate(c) && i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1));
            if (pair) {
                out.append(c).append(text.charAt(++i));
            } else if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20 || Character.isSurrogate(c)) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }
}
