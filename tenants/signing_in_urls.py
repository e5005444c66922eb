"""URLs of signing in and of an account's own security, by allauth's names. Nothing here signs anybody up."""

from allauth.account import views as account
from allauth.usersessions.views import list_usersessions
from django.contrib.auth.views import LogoutView
from django.urls import include, path, re_path

from tenants.signing_in import ForgottenPassword, Join, SignIn, set_first_password

sign_in, sign_out = SignIn.as_view(), LogoutView.as_view()

urlpatterns = [
    path("login/", sign_in, name="login"),
    path("login/", sign_in, name="account_login"),
    path("logout/", sign_out, name="logout"),
    path("logout/", sign_out, name="account_logout"),
    path("account/password/", account.password_change, name="account_change_password"),
    path("account/password/set/", set_first_password, name="account_set_password"),
    path("account/password/reset/", ForgottenPassword.as_view(), name="account_reset_password"),
    path("account/password/reset/sent/", account.password_reset_done, name="account_reset_password_done"),
    re_path(
        r"^account/password/reset/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path(
        "account/password/reset/done/",
        account.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    path("invitation/<str:token>/", Join.as_view(), name="invitation"),
    path("account/reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("account/sessions/", list_usersessions, name="usersessions_list"),
    path("account/security/", include("allauth.mfa.urls")),
]
