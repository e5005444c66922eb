"""French words of recall, folded (`vocabulary.py`)."""

from __future__ import annotations

from memories.recall.vocabulary import Vocabulary, time_table, word_set, word_table

VOCABULARY = Vocabulary(
    stop_words=word_set(
        """
        le la les l un une des du de d et ou mais aussi ne pas plus tres deja encore svp plait
        je j tu il elle on nous vous ils elles me m moi te t se s lui leur y en
        mon ma mes ton ta tes son sa ses notre nos votre vos leurs
        est es suis sommes sont etait etais ete etre ai as a avons ont avait avoir ce c cet cette ces ca cela
        appelle appelles appellent nomme
        que qu quoi qui quel quelle quels quelles quand comment pourquoi combien lequel laquelle
        au aux avec chez dans depuis entre jusqu par pour sans sous sur vers
        ici la maintenant tout toute tous toutes dis sais rappelle rendu rendue
        """
    ),
    first_person=word_set("je j me m moi mon ma mes nous notre nos suis"),
    past=word_set("etait etais etaient avait avais avant ancien ancienne habitais travaillais autrefois"),
    forms=word_table(
        """
        when = quand
        how many = combien
        who = qui
        where = ou
        why = pourquoi
        how = comment etapes recette
        what = que qu quoi quel quelle quels quelles
        """
    ),
    times=time_table(
        """
        month = janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre
        weekday = lundi mardi mercredi jeudi vendredi samedi dimanche
        season = printemps ete automne hiver
        day = aujourd hier avanthier
        unit = jour/jours semaine/semaines mois an/ans/annee/annees weekend matin/soir/nuit
        number = zero un/une deux trois/quelques quatre cinq six sept huit neuf dix onze douze
        last = dernier/derniere/derniers/dernieres/passe/passee
        this = ce/cet/cette/ces
        ago_first = ilya
        since = depuis
        before = avant
        after = apres
        until = jusqu
        between = entre
        and = et
        in = en/au
        skip = le/la/les/l/de/du/d/des
        """
    ),
)
