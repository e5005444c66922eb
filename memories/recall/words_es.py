"""Spanish words of recall, folded (`vocabulary.py`)."""

from __future__ import annotations

from memories.recall.vocabulary import Vocabulary, time_table, word_set, word_table

VOCABULARY = Vocabulary(
    stop_words=word_set(
        """
        el la los las un una unos unas lo al del de y o u e pero tambien ya no si mas muy solo otra otro vez favor
        yo tu usted ella nosotros ellos ellas me mi mis te ti se le les nos su sus nuestro nuestra nuestros nuestras
        es soy eres somos son era eran fue ser estoy esta estan estaba estar hay he ha hemos han habia tengo tiene
        tenemos tienen tener puedo puede debo
        llama llamo llaman llamaba llamas
        que cual cuales quien quienes como donde adonde cuando cuanto cuanta cuantos cuantas por porque para
        a ante con contra desde en entre hasta hacia segun sin sobre tras
        este estos esa ese eso esto aqui alli ahora todo toda todos todas dime sabes recuerda
        """
    ),
    first_person=word_set(
        "yo me mi mis mio mia nos nuestro nuestra nuestros nuestras soy estoy tengo vivo trabajo hago llamo somos"
    ),
    past=word_set("era eran fue fueron estaba vivia trabajaba tenia hacia antes antiguo antigua anterior entonces"),
    forms=word_table(
        """
        when = cuando
        how many = cuanto cuanta cuantos cuantas
        who = quien quienes
        where = donde adonde
        why = porque
        how = como pasos receta
        what = que cual cuales
        """
    ),
    times=time_table(
        """
        month = enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre
        weekday = lunes martes miercoles jueves viernes sabado domingo
        season = primavera verano otono invierno
        day = hoy ayer/anoche anteayer/antier
        unit = dia/dias semana/semanas mes/meses ano/anos finde manana/tarde/noche
        number = cero un/una/uno dos tres/par/unos/unas cuatro cinco seis siete ocho nueve diez once doce
        last = pasado/pasada/pasados/pasadas/ultimo/ultima/ultimos/ultimas
        this = este/esta/estos/estas
        ago_first = hace
        since = desde
        before = antes
        after = despues/tras
        until = hasta
        between = entre
        and = y
        in = en
        skip = de/del/el/la/los/las
        """
    ),
)
