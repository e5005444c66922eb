"""Words that people use when they talk about passwords without saying one. Lower case."""

from __future__ import annotations

FUNCTION_WORDS = frozenset(
    """
    the in a an is to of for and on at my your our it not with was that this are be has have by from or as so if but
    """.split()
)
DESCRIPTIONS = FUNCTION_WORDS | frozenset(
    """
    required optional none null nil true false string str text int bool password passwords passcode reset change
    changed incorrect wrong invalid valid forgotten forgot missing empty blank hidden yes no ok okay n/a na tbd todo
    see ask same unknown must minimum min max use what how never always please please. their them they there here
    why when who where secret private weak strong stronger safe secure insecure long short longer simple complex
    easy hard difficult tricky case-sensitive sensitive correct right fine good bad great terrible awful old new
    older newer unique different identical similar random obvious public personal shared lost stolen leaked
    compromised expired stored saved kept written encrypted hashed salted masked protected locked disabled enabled
    deactivated turned broken gone ready set due available needed important mandatory ridiculous annoying boring
    funny silly dead crucial vital essential necessary enough temporary permanent default defaults standard usual
    normal something somewhere anything nothing everything someone anyone nobody probably maybe perhaps still
    already also only just really very too quite rather pretty almost now soon later today tomorrow yesterday again
    back ever once between within without about around under over above below inside outside manager managers field
    fields policy rules rule strength length generator hash hashing reuse rotation prompt screen page form box hint
    hints check checks checker input value values attempt attempts change-me username email address name user login
    account vault file files safe drawer notebook keychain bitwarden lastpass keepass onepassword 1password because
    before after since until while though although unless whether which whose stark schwach falsch richtig geheim
    sicher unsicher lang kurz neu alt vergessen abgelaufen gespeichert nicht sehr noch muy fuerte débil segura
    seguro incorrecta correcta larga corta nueva vieja obligatoria obligatorio forte fraca segura correta errada
    longa curta nova antiga obrigatória fort faible sûr correct faux long court nouveau ancien obligatoire expiré
    oublié trop très pas sterk zwak fout goed veilig lang kort nieuw oud vergeten verlopen niet te
    """.split()
)
