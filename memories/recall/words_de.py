"""German words of recall, folded (`vocabulary.py`)."""

from __future__ import annotations

from memories.recall.vocabulary import Vocabulary, time_table, word_set, word_table

VOCABULARY = Vocabulary(
    stop_words=word_set(
        """
        der die das den dem des ein eine einen einem einer eines kein keine und oder aber auch nur noch schon mal doch
        denn eigentlich nochmal bitte wieder ich du er sie es wir ihr mich mir dich dir uns euch ihn ihm ihnen man sich
        mein meine meinen meinem meiner meins meines unser unsere unseren unserem unserer dein deine sein seine
        ist bin bist sind seid war waren hat habe hab hast haben hatte hatten wird werde werden wurde kann muss soll
        heisst heissen heiss heisse nennt
        wer wem wen was wie wo wohin woher wann warum wieso weshalb welche welcher welches welchen welchem wieviel
        in im an am auf aus bei beim mit nach von vom vor zu zum zur fur uber um unter durch gegen ohne bis seit als
        dass da dort hier so nicht ja nein jetzt gerade alles sag sage weiss weisst viel viele
        """
    ),
    first_person=word_set(
        "ich mich mir mein meine meinen meinem meiner meins meines wir uns unser unsere unseren unserem unserer"
    ),
    past=word_set("war waren warst hatte hatten hattest wurde wurden fruher vorher davor damals zuvor ehemals bevor"),
    forms=word_table(
        """
        when = wann
        how many = wieviel wieviele viel viele alt gross hoch weit lang oft schwer
        who = wer wem wen wessen
        where = wo wohin woher
        why = warum wieso weshalb
        how = wie schritte anleitung
        what = was welche welcher welches welchen welchem
        """
    ),
    times=time_table(
        """
        month = januar/janner februar/feber marz april mai juni juli august september oktober november dezember
        weekday = montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag
        season = fruhling/fruhjahr sommer herbst winter
        day = heute gestern vorgestern
        unit = tag/tage/tagen woche/wochen monat/monate/monaten jahr/jahre/jahren wochenende morgen/abend/nacht
        number = null ein/eine/einem/einer/einen zwei drei/paar/einigen vier funf sechs sieben acht neun zehn elf zwolf
        last = letzte/letzten/letzter/letztes/letztem/vorige/vorigen/voriger/voriges/vergangene/vergangenen/vergangenes
        this = diese/diesen/dieser/dieses/diesem
        ago_first = vor
        since = seit
        before = vor/bevor
        after = nach
        until = bis
        between = zwischen
        and = und
        in = in/im
        skip = der/die/das/den/dem/des
        """
    ),
)
