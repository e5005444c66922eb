"""OAuth 2.1 for programs that take no token: clients, what members allow them, and the names of it all (docs/adr/0039).

`protocol` has the addresses, scopes, metadata documents and errors; `clients` knows who asks; `grants` turns a member's
consent into a code, and the code into an ApiToken that is renewed; `endpoints` answers programs. The consent is a page
in `memories`.
"""
