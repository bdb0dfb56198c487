package landed;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;

/** What the package must get right without a journal. Run with -ea; do not copy it into a worker. */
final class SelfTest {
    private SelfTest() {}

    public static void main(String[] args) throws Exception {
        boolean asserting = false;
        assert asserting = true;
        if (!asserting) {
            throw new IllegalStateException("run with -ea");
        }
        bytesStay();
        jsonIsStrict();
        stringsSurvive();
        keys();
        phases();
        nothingIsSentLate();
        System.out.println("ok");
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void bytesStay() {
        String deep = "[".repeat(100_000);
        List<String> inside = List.of("{\"a\": 1970670598291982290, \"b\":10.10}", "{\"a\":1,\"a\":2}", "\"\\u0000 } ,\"", "[ ]", "0");
        List<String> encoded = List.of("null", "1\n", " 1", "NaN", "01", "{\"a\":1,}", "\"\u0001\"", deep, "");
        for (String text : inside) {
            String body = new Json.Writer().put("x", 1).content("result", utf8(text)).toString();
            assert body.equals("{\"x\":1,\"result\":" + text + "}") : body;
            assert new String(Json.parse(utf8(body)).content("result"), StandardCharsets.UTF_8).equals(text) : text;
        }
        for (String text : encoded) {
            Json back = Json.parse(new Json.Writer().content("result", utf8(text)).bytes());
            assert back.raw("result") == null && new String(back.content("result"), StandardCharsets.UTF_8).equals(text) : text;
        }
        byte[] odd = {(byte) 0xff};
        assert Json.parse(new Json.Writer().content("r", odd).bytes()).content("r")[0] == odd[0];
        assert new Json.Writer().put("x", 1).content("result", null).put("y", "").toString().equals("{\"x\":1}");
    }

    private static void jsonIsStrict() {
        Json read = Json.parse(utf8(" { \"args\" : {\"b\" :1.10,\"s\":\"\\u0000 } ,\"} ,\n\"n\":[ {\"k\":1}, { } ] , \"e\":{},\"t\":true,\"z\":null}\n"));
        assert read.raw("args").equals("{\"b\" :1.10,\"s\":\"\\u0000 } ,\"}");
        assert read.objects("n").size() == 2 && read.objects("n").get(0).integer("k", 0) == 1;
        assert read.flag("t") && read.raw("z") == null && read.object("missing").raw("x") == null;
        for (String bad : List.of("[]", "", "{\"a\":", "{\"a\":1}{}", "{\"a\":1,\"a\":2}", "{'a':1}", "{\"a\":+1}", "{\"a\":1.}", "{\"a\":\"\\x\"}", "{\"a\":tru}")) {
            assert refused(utf8(bad)) : bad;
        }
        assert refused(new byte[] {'{', '"', (byte) 0xc3, '"', ':', '1', '}'});
    }

    private static boolean refused(byte[] text) {
        try {
            Json.parse(text);
            return false;
        } catch (IllegalArgumentException e) {
            return true;
        }
    }

    private static void stringsSurvive() {
        for (String text : List.of("a\"b\\c\n\u0000\u001f", "ü \uD83D\uDE00", "\uD800 alone", "\\u0000")) {
            assert Json.parse(new Json.Writer().put("s", text).bytes()).string("s", "").equals(text) : text;
        }
    }

    private static void keys() {
        assert !EffectKey.derive("r", "a/b", "c", "").toString().equals(EffectKey.derive("r", "a", "b/c", "").toString());
        assert EffectKey.derive("run ü", "s", "o", "i~*:").toString().equals("run%20%C3%BC/s/o/i~%2A:"); // as landed.py derives it
        for (String[] parts : new String[][] {{"", "s", "o"}, {"r", " ", "o"}, {"r".repeat(300), "s", "o"}}) {
            try {
                EffectKey.derive(parts[0], parts[1], parts[2], "");
                assert false : parts[0];
            } catch (IllegalArgumentException e) {
                assert !e.getMessage().isEmpty();
            }
        }
    }

    private static Grant grant(String name, long value) {
        Json.Writer whole = new Json.Writer().put("effect_id", "e").put("attempt", 1).put("ref", "r").put("provider_key", "p")
                .put("send_by_ms", 60_000).put("lease_for_ms", 60_000);
        return new Grant(Json.parse(whole.put(name, value).bytes()), utf8("{}"), Clock.now());
    }

    private static void phases() throws Exception {
        Grant one = grant("attempt", 1);
        assert one.phase(new NotSentException("", null)).equals("not_sent");
        assert one.phase(new IOException()).equals("sent") && one.phase(new OutOfMemoryError()).equals("sent");
        one.sending();
        assert one.phase(new NotSentException("", null)).equals("sent");
        assert one.phase(RefusedException.forGood(402, "no")).equals("refused");
        assert late(one) : "a grant serves one request";
        Grant lost = grant("attempt", 1);
        lost.lose();
        assert late(lost) && late(grant("send_by_ms", 0)) && late(grant("lease_for_ms", 0)) && late(grant("key_window_ms", -1));
    }

    private static boolean late(Grant grant) {
        try {
            grant.sending();
            return false;
        } catch (TooLateException e) {
            return true;
        }
    }

    /** A grant that ends between the header and the body: the body's first byte must not go out. */
    private static void nothingIsSentLate() throws Exception {
        try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            FutureTask<String> got = new FutureTask<>(() -> {
                try (Socket s = listener.accept(); InputStream in = s.getInputStream()) {
                    return new String(in.readAllBytes(), StandardCharsets.US_ASCII);
                }
            });
            new Thread(got).start();
            Grant grant = grant("send_by_ms", 0);
            URI address = URI.create("http://127.0.0.1:" + listener.getLocalPort() + "/");
            HttpRequest post = HttpRequest.newBuilder(address).timeout(Duration.ofSeconds(20)).POST(new GatedBody(grant, utf8("the charge"))).build();
            try {
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build().send(post, BodyHandlers.ofString());
                assert false : "it was sent";
            } catch (IOException e) {
                assert grant.phase(e).equals("sent") : "a header may have left, so nothing is proved";
            }
            String request = got.get();
            assert request.startsWith("POST / ") && request.endsWith("\r\n\r\n") : request;
        }
    }
}
