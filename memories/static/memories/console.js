// Swagger UI with this server's description. Requests carry the reader's session, and its CSRF token.
const { schema, csrf } = document.getElementById("console").dataset;

window.SwaggerUIBundle({
  url: schema,
  dom_id: "#console",
  deepLinking: true,
  docExpansion: "none",
  validatorUrl: null,
  requestInterceptor: (request) => {
    request.headers["X-CSRFToken"] = csrf;
    if (request.url.endsWith(schema)) request.headers.Accept = "application/vnd.oai.openapi+json";
    return request;
  },
});
