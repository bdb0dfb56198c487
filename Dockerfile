# landed in one static binary, nothing else: no shell, no package manager.
#
#   docker build -t landed .
#   docker run -p 8080:8080 -v ./landed.yaml:/etc/landed/landed.yaml:ro landed
#
# The configuration must listen on all addresses of the container, such as
# `listen: 0.0.0.0:8080`; it is mounted, with secrets as `file:` or `env:`.

FROM golang:1.26.10-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download && go mod verify
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o /out/landed ./cmd/landed

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/landed /landed
# No account of any machine: numeric, so that runtimes can see it is not root.
USER 65532:65532
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
  CMD ["/landed", "check", "--live", "--config", "/etc/landed/landed.yaml"]
ENTRYPOINT ["/landed"]
CMD ["serve", "--config", "/etc/landed/landed.yaml"]
