package landed;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Walks over JSON text by RFC 8259, strictly: no comments, no NaN, no leading zeros, no trailing
 * comma. What it returns of a value is its exact text.
 */
final class JsonScanner {
    private static final int MAX_DEPTH = 500;

    private final String text;
    private int at;
    private int depth;

    JsonScanner(String text) {
        this.text = text;
    }

    /** Skips white space. */
    void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    /** Demands the end of the text. */
    void end() {
        if (at != text.length()) {
            throw wrong("more text after the value");
        }
    }

    /** Reads an object: the exact text of each member. */
    Map<String, String> object() {
        Map<String, String> members = new LinkedHashMap<>();
        open('{');
        while (!close('}', members.isEmpty())) {
            String name = string();
            space();
            take(':');
            space();
            if (members.put(name, value()) != null) {
                throw wrong("member " + name + " twice");
            }
        }
        return members;
    }

    /** Reads an array: the exact text of each element. */
    List<String> array() {
        List<String> elements = new ArrayList<>();
        open('[');
        while (!close(']', elements.isEmpty())) {
            elements.add(value());
        }
        return elements;
    }

    /** Reads any value and returns its exact text. */
    String value() {
        int start = at;
        switch (peek()) {
            case '{' -> members();
            case '[' -> array();
            case '"' -> string();
            case 't' -> word("true");
            case 'f' -> word("false");
            case 'n' -> word("null");
            default -> number();
        }
        return text.substring(start, at);
    }

    /** Passes over an inner object; repeated members are its owner's business. */
    private void members() {
        boolean first = true;
        open('{');
        for (; !close('}', first); first = false) {
            string();
            space();
            take(':');
            space();
            value();
        }
    }

    /** Reads a string and decodes it. */
    String string() {
        StringBuilder out = new StringBuilder();
        take('"');
        while (peek() != '"') {
            char c = text.charAt(at++);
            if (c < 0x20) {
                throw wrong("a control character in a string");
            }
            out.append(c == '\\' ? escape() : c);
        }
        at++;
        return out.toString();
    }

    private char escape() {
        char c = peek();
        at++;
        int simple = "\"\\/bfnrt".indexOf(c);
        if (simple >= 0) {
            return "\"\\/\b\f\n\r\t".charAt(simple);
        }
        if (c != 'u') {
            throw wrong("an unknown escape");
        }
        int code = 0;
        for (int i = 0; i < 4; i++, at++) {
            int digit = peek() < 128 ? Character.digit(peek(), 16) : -1;
            if (digit < 0) {
                throw wrong("a broken escape");
            }
            code = code * 16 + digit;
        }
        return (char) code;
    }

    private void number() {
        skip('-');
        if (!skip('0')) {
            digits();
        }
        if (skip('.')) {
            digits();
        }
        if (skip('e') || skip('E')) {
            if (!skip('+')) {
                skip('-');
            }
            digits();
        }
    }

    private void digits() {
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == start) {
            throw wrong("not a value");
        }
    }

    private void word(String word) {
        if (!text.startsWith(word, at)) {
            throw wrong("not a value");
        }
        at += word.length();
    }

    private void open(char c) {
        take(c);
        if (++depth > MAX_DEPTH) {
            throw wrong("nested too deep");
        }
    }

    /** At the end of a list: past its closing character. Else past the comma, if one must be there. */
    private boolean close(char c, boolean first) {
        space();
        if (skip(c)) {
            depth--;
            return true;
        }
        if (!first) {
            take(',');
            space();
        }
        return false;
    }

    private char peek() {
        if (at >= text.length()) {
            throw wrong("it ends too early");
        }
        return text.charAt(at);
    }

    private boolean skip(char c) {
        if (at < text.length() && text.charAt(at) == c) {
            at++;
            return true;
        }
        return false;
    }

    private void take(char c) {
        if (!skip(c)) {
            throw wrong("no " + c);
        }
    }

    private IllegalArgumentException wrong(String what) {
        return new IllegalArgumentException("not JSON at character " + at + ": " + what);
    }
}
