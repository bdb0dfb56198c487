package landed;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The calls of the worker API and the way back from a problem code to an exception. */
final class Calls {
    private static final Set<String> AGAIN = Set.of("unavailable", "conflict", "too_many_waiting");
    private static final Set<Integer> OF_A_PROXY = Set.of(429, 502, 503, 504);
    static final Json NOTHING = Json.parse(new byte[] {'{', '}'});

    private final String base;
    private final String token;
    private final long timeoutMillis;
    private final HttpClient http;

    Calls(URI base, String token, Duration timeout) {
        if (base.getHost() == null || !Set.of("http", "https").contains(base.getScheme())) {
            throw new IllegalArgumentException("the journal's address must be an http or https URL");
        }
        this.base = base.toString().replaceAll("/+$", "") + "/v1";
        this.token = token;
        this.timeoutMillis = timeout.toMillis();
        // No redirects: they would carry the token elsewhere or turn POST into GET.
        this.http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(timeout).build();
    }

    /** Sends one request and reads its answer; NOTHING for 204. A 409 with a directive is an answer. */
    Json send(String method, String path, byte[] body, long extraMillis) throws JournalException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path)).header("Authorization", "Bearer " + token);
        if (body == null) {
            request.method(method, BodyPublishers.noBody());
        } else {
            request.method(method, BodyPublishers.ofByteArray(body)).header("Content-Type", "application/json");
        }
        HttpResponse<byte[]> answer = exchange(request.build(), timeoutMillis + extraMillis);
        if (answer.statusCode() == 204) {
            return NOTHING;
        }
        Json read;
        try {
            read = Json.parse(answer.body());
        } catch (IllegalArgumentException e) {
            if (answer.statusCode() == 200) {
                throw new UnavailableException("its answer can't be read", e);
            }
            read = NOTHING; // something before the journal speaks
        }
        if (answer.statusCode() == 200 || answer.statusCode() == 409 && read.raw("directive") != null) {
            return read;
        }
        throw problem(answer.statusCode(), read);
    }

    /** The time-out covers the answer's body too, which HttpRequest.timeout does not. */
    private HttpResponse<byte[]> exchange(HttpRequest request, long millis) throws UnavailableException, InterruptedException {
        Future<HttpResponse<byte[]>> answer = http.sendAsync(request, BodyHandlers.ofByteArray());
        try {
            return answer.get(millis, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException cause) {
                throw new UnavailableException(String.valueOf(cause.getMessage()), cause);
            }
            throw new IllegalStateException("calling the journal", e.getCause());
        } catch (TimeoutException e) {
            throw new UnavailableException("no answer within " + millis + " ms", e);
        } finally {
            answer.cancel(true);
        }
    }

    private static JournalException problem(int status, Json problem) {
        String code = problem.string("code", "");
        if (code.isEmpty() && OF_A_PROXY.contains(status)) {
            return new UnavailableException("something before the journal answered " + status, null);
        }
        if (AGAIN.contains(code)) {
            return new UnavailableException(problem.string("detail", ""), null);
        }
        return new JournalException(status, code, problem.string("detail", ""), problem, null);
    }

    @FunctionalInterface
    interface Send {
        Json send() throws JournalException, InterruptedException;
    }

    /** Repeats a call that may be sent at any time, while the journal can't be reached. */
    static Json patiently(Duration patience, Send send) throws JournalException, InterruptedException {
        Clock begun = Clock.now();
        for (long pause = 100; ; pause = Math.min(2 * pause, 5_000)) {
            try {
                return send.send();
            } catch (UnavailableException e) {
                if (begun.passed() + pause > patience.toMillis()) {
                    throw e;
                }
            }
            Thread.sleep(pause);
        }
    }
}
