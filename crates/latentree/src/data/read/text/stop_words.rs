//! Words that say little of what a text is about: articles, pronouns, prepositions, forms of *to be*.
//!
//! Lists are short, and written for words that end at apostrophes: *don't* is *don* and *t*, *l'acqua* is *l* and *acqua*.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::words::Words;
use crate::data::read::TextEncoding;
use crate::data::read::encoding::not_utf8;
use crate::error::{Error, Place, Result, Shortened};

/// Which words are left out of texts.
///
/// # Example
/// ```
/// use latentree::data::StopWords;
/// assert_eq!("none".parse::<StopWords>()?, StopWords::None);
/// assert_eq!("en,it".parse::<StopWords>()?.to_string(), "en,it");
/// assert!("klingon".parse::<StopWords>().is_err());
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StopWords {
    /// Those of the language whose list covers most of the texts, if it covers a fifth of all words.
    #[default]
    Auto,
    /// All words stay.
    None,
    /// Those of these lists.
    Lists(Vec<StopList>),
}

/// A list of stop words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopList {
    /// Of a language, by its two-letter code.
    Language(&'static str),
    /// A file of words, separated by spaces or line ends.
    File(PathBuf),
}

impl FromStr for StopWords {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => return Ok(Self::Auto),
            "none" => return Ok(Self::None),
            _ => {}
        }
        let list = |name: &str| {
            let language = LANGUAGES.iter().find(|(code, _)| *code == name).map(|(code, _)| StopList::Language(code));
            let file = || std::path::Path::new(name).is_file().then(|| StopList::File(PathBuf::from(name)));
            language.or_else(file).ok_or_else(|| {
                let known: Vec<&str> = LANGUAGES.iter().map(|(code, _)| *code).collect();
                let problem = format!(
                    "{:?} is neither a language ({}) nor a file; auto chooses the language, none keeps all words",
                    Shortened(name),
                    known.join(", ")
                );
                Error::option("read.stop", problem)
            })
        };
        Ok(Self::Lists(text.split(',').map(str::trim).map(list).collect::<Result<_>>()?))
    }
}

impl fmt::Display for StopWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::Lists(lists) => {
                let names: Vec<String> = lists
                    .iter()
                    .map(|list| match list {
                        StopList::Language(code) => (*code).to_owned(),
                        StopList::File(path) => path.display().to_string(),
                    })
                    .collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

impl StopList {
    /// The words of the list.
    pub(super) fn words(&self, encoding: Option<TextEncoding>) -> Result<HashSet<String>> {
        let mut found = HashSet::new();
        let mut words = Words::default();
        match self {
            Self::Language(code) => {
                let list = LANGUAGES.iter().find(|(it, _)| it == code).map_or("", |it| it.1);
                words.each(list, |word| {
                    found.insert(word.to_owned());
                });
            }
            Self::File(path) => {
                let mut reader = crate::file::open(path)?;
                if let Some(encoding) = encoding {
                    reader = encoding.decode(reader);
                }
                let mut bytes = Vec::new();
                std::io::Read::read_to_end(&mut reader, &mut bytes).map_err(Error::io("read", path))?;
                let text = std::str::from_utf8(&bytes).map_err(|_| Error::data(Place::file(path), not_utf8(&bytes)))?;
                words.each(text, |word| {
                    found.insert(word.to_owned());
                });
                if found.is_empty() {
                    return Err(Error::data(Place::file(path), "there are no words in this list of stop words"));
                }
            }
        }
        Ok(found)
    }
}

/// The languages, in the order in which `auto` tries them.
pub(super) fn languages() -> impl Iterator<Item = &'static str> {
    LANGUAGES.iter().map(|(code, _)| *code)
}

const LANGUAGES: [(&str, &str); 7] =
    [("en", ENGLISH), ("it", ITALIAN), ("de", GERMAN), ("fr", FRENCH), ("es", SPANISH), ("pt", PORTUGUESE), ("nl", DUTCH)];

const ENGLISH: &str = "a about above after again against ain all also am an and any are aren as at be because been before being below \
    between both but by can cannot could couldn d did didn do does doesn doing don down during each even few for from further get got \
    had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just let ll m \
    may me might mightn more most must mustn my myself needn no nor not now o of off on once one only or other our ours ourselves out \
    over own re s same shall shan she should shouldn so some such t than that the their theirs them themselves then there these they \
    this those through to too under until up upon us ve very was wasn we were weren what when where which while who whom whose why \
    will with won would wouldn y you your yours yourself yourselves";

const ITALIAN: &str = "a abbia abbiamo ad agli ai al alla alle allo allor allora anche ancora avea avere aveva avevo c che chi ci ciò coi col \
    come con contro cui d da dagl dagli dai dal dall dalla dalle dallo de degl degli dei del dell della delle dello dentro di dopo dove \
    dunque e è ed ei egli el era erano eran eri ero essa esse essendo essere essi esso fa fai fanno fu fui furon furono già gli ha hai \
    hanno ho i il in io l la le lei li lo loro lui ma me mi mia mie miei mio n ne né negli nei nel nell nella nelle nello noi non nostra \
    nostre nostri nostro o od ogni ogne or ora per però perché più poi pur pure qual quale quali quando quanta quanto quel quell quella \
    quelle quelli quello quest questa queste questi questo qui quindi quivi s sanno se sé sì si sia siamo siano siccome sono sovra sta \
    stata state stati stato su sua sue sugli sui sul sull sulla sulle sullo suo suoi t tal tale tanta tanto te tra ti tra tu tua tue \
    tuo tuoi tutta tutte tutti tutto un una uno v vi voi vostra vostre vostri vostro ch com m perch quant tant là così ond onde";

const GERMAN: &str = "aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus bei bin bis \
    bist da dadurch damit dann das dass daß dein deine deinem deinen deiner dem den denn der deren des dessen dich die dies diese diesem \
    diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines einige er es etwas euch euer eure für gegen gewesen hab \
    habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja jede jedem jeden \
    jeder jedes jedoch jene kann kein keine keinem keinen keiner können könnte machen man manche mehr mein meine meinem meinen meiner mich \
    mir mit muss musste nach nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind so \
    solche soll sollte sondern sonst über um und uns unser unsere unter viel vom von vor während war waren warst was weg weil weiter \
    welche welchem welchen welcher welches wenn werde werden wie wieder will wir wird wirst wo wollen wollte wurde wurden würde würden zu \
    zum zur zwar zwischen";

const FRENCH: &str = "a ai aie ainsi après as au aucun aura aurait aussi autre autres aux avait avant avec avez avoir avons ayant c ça car ce ceci \
    cela celle celles celui ces cet cette ceux chaque chez comme comment d dans de depuis des donc dont du elle elles en encore entre es \
    est et étaient était étant été êtes être eu eux fait faire fut furent il ils j je jusqu l la laquelle le lequel les leur leurs lorsque \
    lui m ma mais me même mêmes mes moi mon n ne ni non nos notre nous on ont ou où par parce pas pendant peu peut plus pour pourquoi qu \
    quand que quel quelle quelles quels qui quoi s sa sans se sera serait ses si sien sinon soi soit sommes son sont sous suis sur t ta \
    tandis tant te tel telle tes toi ton tous tout toute toutes très tu un une vers voici voilà vos votre vous y";

const SPANISH: &str = "a al algo algunas algunos ante antes aquel aquella aquellas aquellos así aun aunque bien cada como con contra cual cuales \
    cuando de del desde donde dos durante e el él ella ellas ellos en entre era erais eran eras eres es esa esas ese eso esos esta está \
    estaba estaban estado están estar estas este esto estos estoy fue fueron fui ha había habían haber hace hacia han has hasta hay he hemos \
    la las le les lo los más me mi mí mientras mis mucho muchos muy nada ni no nos nosotros nuestra nuestras nuestro nuestros o os otra \
    otras otro otros para pero poco por porque pues que qué quien quién quienes se sea sean ser si sí sido siendo sin sobre sois somos son \
    soy su sus suya suyo también tan tanto te tenía tiene tienen toda todas todo todos tu tú tus un una unas uno unos vosotros vuestra \
    vuestro y ya yo";

const PORTUGUESE: &str = "a à ao aos aquela aquelas aquele aqueles aquilo as às até com como da das de dela delas dele deles depois do dos e é ela \
    elas ele eles em entre era eram essa essas esse esses esta está estão estas estava este estes estou eu foi foram for fosse há haja hão \
    isso isto já lhe lhes mais mas me mesmo meu meus minha minhas muito na não nas nem no nos nós nossa nossas nosso nossos num numa o os ou \
    para pela pelas pelo pelos por qual quando que quem são se seja sem ser será seu seus só somos sou sua suas também te tem têm tenho ter \
    teu tinha tinham tive tu tua tudo um uma umas uns você vocês vos";

const DUTCH: &str = "aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge geen geweest haar \
    had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon kunnen maar me meer men met mij mijn moet na naar niet \
    niets nog nu of om omdat onder ons ook op over reeds te tegen toch toen tot u uit uw van veel voor want waren was wat werd wezen wie wil \
    worden wordt zal ze zelf zich zij zijn zo zonder zou";
