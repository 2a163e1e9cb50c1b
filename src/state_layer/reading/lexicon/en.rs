//! English.

use super::{Class, Sign};

pub(super) const CLASSES: &[Class] = &[
    (
        Sign::Ask,
        "what|what's|when|when's|where|where's|who|who's|which|why|how|how's|is|are|am|was|were|do|does|did|\
         can|could|would|should|shall|will|has|have|any|anyone|wondering|just curious|curious",
    ),
    (
        Sign::If,
        "if|in case|unless|provided that|assuming|suppose|supposing|imagine|let's say|hypothetically|\
         in theory|what if|whether|should it|had we|depending on|would have",
    ),
    (
        Sign::Wish,
        "looking into|looking at|exploring|weighing|mulling|toying with|playing with|fancy|jealous|too bad|wish|i wish|hope|hoping|hopefully|i think|i believe|i guess|i feel|i'd prefer|prefer|would prefer|\
         would rather|i suggest|suggest*|recommend*|propose*|should|ought|maybe|perhaps|possibly|probably|\
         might|could|would be|would look|would love|would like|would be nice|thinking about|thinking of|\
         considering|consider|tempted|wondering|i'd love|not sure|someday|one day|dream*|in an ideal world|\
         leaning|toying|debating|hesitat*|may|looks like it might|rumou*r*|allegedly|i'd say",
    ),
    (
        Sign::Draft,
        "draft*|idea|ideas|brainstorm*|tentative*|not final|nothing decided|nothing final|not decided|\
         undecided|tbd|proposal|preliminary|pending approval|mockup|just exploring|for discussion|\
         work in progress|placeholder|not confirmed|unconfirmed|not official|for example|e.g",
    ),
    (
        Sign::Past,
        "last week|last month|last year|last night|last time|last quarter|last summer|last winter|\
         last spring|last fall|last monday|last tuesday|last wednesday|last thursday|last friday|\
         last saturday|last sunday|originally|initially|used to|back when|back then|when i was|when he was|\
         when she was|when we were|when they were|previously|formerly|in the past|years ago|months ago|\
         weeks ago|days ago|a while ago|once upon|had been|we'd planned|we had|i had|they had|it had|\
         before that|almost|nearly|at first|in those days|years back|was going to|were going to|\
         remember when",
    ),
    (
        Sign::Once,
        "just this once|this once|just today|only today|just for today|for today only|today only|\
         just tomorrow|only tomorrow|for now|temporarily|temporary|for the time being|for a few days|\
         for a couple of days|for a day|for the day|for the week|this time|one time|one-off|one off|\
         just for|only for|for one day|for the weekend|this week only|staying|that day|on that day|\
         until further notice|meanwhile|in the meantime|while i'm|while he's|while she's|while we're|\
         as an exception|exceptionally|for tonight|out sick|on vacation|on leave|filling in|covering for|\
         covers for|cover for|stand-in|standing in|this week|this weekend|just this",
    ),
    (
        Sign::Keep,
        "still|remains|remain|stays|unchanged|same as before|the same|as planned|as agreed|as scheduled|\
         no change|no changes|nothing changed|nothing changes|hasn't changed|haven't changed|didn't change|\
         isn't changing|confirm|confirming|confirmed|to confirm|just checking|leave it|leave as is|keep it|\
         as is|stick with|sticking with|sticks with|keeping|sounds good|got it|as usual|as always|\
         reminder that|kept",
    ),
    (
        Sign::NoNeed,
        "no need to|don't need to|needn't|don't change|don't move|don't cancel|do not change|do not cancel|\
         do not move|not changing|never changed|wasn't moved|wasn't changed|wasn't cancelled|\
         wasn't canceled|not moving|not cancelled|not canceled|isn't cancelled|isn't canceled|\
         not been moved|not been changed|not been cancelled|not been canceled|hasn't been|haven't been|\
         hasn't moved|won't change|won't be changed|won't move|didn't move|didn't cancel|did not|\
         not going to change|not yet|haven't decided|don't touch|don't want to change|isn't moving|\
         can't change|can't move|cannot change|decided not to|decided against|no plans to|don't think",
    ),
    (
        Sign::Remind,
        "remind|reminder|reminds|don't forget|do not forget|nudge|ping me|remember to|remember that|\
         alert me|notify me|let me know",
    ),
    (
        Sign::Hearsay,
        "keeps asking|keep asking|said|says|told|tells|heard|hear|claims|claimed|apparently|supposedly|\
         mentioned|mentions|according to|i read|saw|word is|someone|somebody|people say|some people|\
         they say|thinks|think|believes|wants|wanted|asked|asks|asking|insists|reckons|swears|suggested|\
         announced",
    ),
    (
        Sign::Add,
        "also|too|as well|add|adding|plus|another|in addition|additionally|extra|on top of|cc|bcc|include|\
         including|besides|one more|along with|throw in",
    ),
    (
        Sign::Part,
        "so far|spent|raised|paid|used up|already paid|already spent|already used|left to|remaining|\
         collected|we've used|to date|saved|received|of which|up to now|invested|sold so far|have used|\
         burned",
    ),
    (
        Sign::Other,
        "across the road|down the street|down the road|nearby|most|other places|average|on average|usually|typically|normally|in general|the market|other|\
         another|different|second one|someone else's|somebody else's|competitor*|new customer|new client|\
         another customer|another client|competition|rival*|around the corner|next door|across the street|\
         elsewhere|the other one|everyone else|other people|group a|group b|group c|group d|\
         the other property|their|theirs|his|hers|her|branch office|in other",
    ),
    (
        Sign::Relation,
        "sister*|brother*|husband*|wife|wife's|daughter*|son|son's|sons|mother*|mom|mom's|mum|mum's|father*|\
         dad|dad's|neighbor*|neighbour*|friend*|cousin*|aunt*|uncle*|niece*|nephew*|grandma*|grandpa*|\
         grandmother*|grandfather*|colleague*|coworker*|co-worker*|roommate*|flatmate*|boyfriend*|\
         girlfriend*|fiance*|classmate*|buddy*|buddies|partner's|kid's|kids'|parents|parents'|parent's|\
         in-law*|stepson|stepdaughter|intern|intern's|trainee*|landlord's|tenant's",
    ),
    (
        Sign::Ruler,
        "board|company|management|hr|legal|compliance|finance|leadership|team|headquarters|hq|ceo|cfo|coo|\
         cto|vp|president|director|manager|boss|chair|doctor|client|bank|committee|school|airline|court|\
         council",
    ),
    (
        Sign::Request,
        "can you|could you|would you|will you|can u|could u|would you mind|i'd like to|i would like to|\
         i want to|we'd like to|we want to|i need to|we need to|i need you to|please|pls|plz|kindly|\
         go ahead|can we do|can i get|could i get|may i have",
    ),
    (Sign::Instead, "instead of|rather than|in place of|in lieu of|as opposed to|over the|replacing"),
    (Sign::Not, "not|no|isn't|aren't|wasn't|it's not|don't|doesn't"),
    (Sign::NoLonger, "no longer|not anymore|anymore|any more|not any longer|no more"),
    (
        Sign::Swap,
        "left|ditched|dumped|leaving|swap|swapping|swapped|replace|replaced|replacing|exchange|exchanged|\
         trade|traded|substitute|substituted|switch out|switched out|switch|swaps|replaces|change out|\
         trading",
    ),
    (
        Sign::Over,
        "takes over|taking over|took over|will take over|is taking over|has taken over|steps in|stepping in|\
         stepped in|replaces|is replacing|succeeds|succeeded|will handle|handles|is handling|handling|\
         now handles|will lead|is leading|now leads|will run|runs the|heads up|is in charge|in charge of|\
         takes charge|is the new|becomes|became|is our new|will be our new|was named|was appointed|\
         has been appointed|was promoted to|is responsible for|will own|now owns|is your new point",
    ),
    (
        Sign::Leave,
        "stepped down|steps down|stepping down|resigned|resigns|has left|left the company|left the team|\
         left the project|quit|has quit|retired|retires|is leaving|was fired|was let go|no longer with|\
         no longer works|doesn't work here|isn't with us|moved on|is out of|is gone|out as|has moved on|\
         departed|was laid off|can't do it|cannot do it|can't make it|dropped out|is out|backed out|\
         pulled out|bailed|passed away|cancelled on us|canceled on us|isn't available anymore|\
         is off the project|off the account",
    ),
    (
        Sign::Move,
        "put me on|put us on|put me in|put us in|reassigned me|assigned me|assigned us|reassigned us|gave me until|gave us until|gave me till|give me until|gave them until|extended it to|slid|slides|slid to|knocked|knocked down|had to go to|turned down to|turned up to|came in at|comes in at|revis*|reschedul*|postpon*|extend*|increas*|reduc*|shorten*|adjust*|amend*|\
         modif*|updat*|upgrad*|downgrad*|relocat*|rebook*|upped|upping|migrat*|transferr*|gave us|gives us|\
         have until|got until|have till|given until|given us|renegotiat*|consolidat*|moved|move|moving|\
         moves|went from|going from|goes from|gone from|changed|change|changing|changes|shifted|shift|\
         shifting|pushed|push|pushing|pushes|postponed|postpone|delayed|delay|slipped|slips|slipping|\
         rescheduled|reschedule|rescheduling|brought forward|bring forward|moved up|bumped|bump|bumping|\
         raised to|raise|raised our|raised the|went up|gone up|went to|goes to|goes up|going up|going to be|\
         increased|increase|increases|increasing|dropped to|drop to|dropped|went down|goes down|lowered|\
         lower|reduced|reduce|cut|cuts|trimmed|slashed|extended|extend|extends|extending|shortened|shorten|\
         tightened|relaxed|upgraded|upgrade|upgrading|downgraded|downgrade|updated|update|updating|switched|\
         switch|switching|switched to|converted|transferred|transfer|relocated|relocate|relocating|rebooked|\
         rebook|amended|revised|adjusted|adjust|modified|modify|set to|reset to|renamed|rename|grew|jumped|\
         rose|fell|climbed|doubled|tightens|expanded|capped|reassigned|redirected|redirect|rerouted|\
         got bumped|been bumped|up to|down to|advanced|gone down|new date|new time|now requires|\
         requires now|pulled forward|sped up|put back|renegotiated|scaled|boosted|boost|turned into|\
         migrated|migrate|migrating|ended up being|came out to|comes to|overriding|override|overruled|\
         finalized|finalised|settled at|landed on|promoted to",
    ),
    (
        Sign::End,
        "cancel|cancels|cancelling|canceling|call off|called off|calls off|drop|dropping|scrap|scrapped|\
         scrapping|axe|axed|terminate|terminated|terminating|discontinue|discontinued|pulled the plug|\
         pull the plug|forget|forget about|get rid of|remove|removed|delete|unsubscribe|stop|stopping|end|\
         ended|ends|kill|killed|frozen|freeze|shelved|shelve|abandon|abandoned|no longer need|don't need|\
         won't need|not continuing|not going ahead|won't happen|not happening|isn't happening|revoke|\
         revoked|withdraw|withdrew|withdrawn|void|rescinded|retract|retracted|quit|skip",
    ),
    (
        Sign::Gone,
        "too tight|too small|too big|too large|too expensive|too far|doesn't fit|does not fit|doesn't work|didn't work|can't do|can't make|fell sick|crashed|is full|are full|is booked|is taken|is unavailable|won't do|out of the question|last day|'s last day|final day|leaves us|leaving us|is leaving|won't be back|not coming back|fell through|fell apart|fell out|broke|broke down|broke up|broke his|broke her|went bust|went under|\
         went out of business|ran out|sold out|closed|is closed|closed down|shut down|is out|is gone|are gone|retired|\
         resigned|quit|left|moved out|moved away|moving out|moving away|moving to another|bailed|backed out|pulled out|\
         dropped|dropped out|ditched|dumped|gave up|given up|giving up|got fired|was fired|was let go|passed away|died|\
         is full|got revoked|was revoked|expired|lapsed|discontinued|cancelled|\
         canceled|had to cancel|no more|no longer|anymore|done with|over with|tired of|sick of|sold|returned|\
         skipping|scrapped|scrapping|out of stock|fired|rejected us|turned us down|forget|isn't available|\
         is not available|unavailable|'s closed|'s gone|'s out|'s full|stopped|stopping|fell ill|is done|got rid of|\
         parted ways|axed|can't do|cannot do|got sick|failed us|let us down|flaked|moved on",
    ),
    (
        Sign::Stead,
        "in his place|in her place|in their place|in its place|in his stead|in her stead|takes his place|takes her place|took his place|took her place|took over|takes over|steps in|stepped in",
    ),
    (
        Sign::Begin,
        "we're in|i'm in|subscribed to|switched to|prefer|working with|took up|take up|taking up|took|takes|taking|started|starting|start|starts|began|want|wants|put me with|\
         put us with|put me in|put us in|put me on|hired|hiring|got|gets|signed up for|signed up with|signed with|joined|\
         joining|enrolled in|use|using|uses|buy from|buying from|buy|bought|plays|playing|shipping|ship|launching|driving|\
         drives|does|doing|handles|handling|looks after|looking after|runs|picking up|picks up|i'm with|we're with|\
         we're on|i'm on|i'm at|we're at|moved into|moved to|go with|going with|went with|booked|rented|have|i have|\
         we have|unloading in|squeezed me in|squeezed us in|come|come in|it's|covering|filling|coming|chose|picked",
    ),
    (
        Sign::Status,
        "authorized|authorised|arrived|came in|came through|got in|installed|received|picked up|in transit|docked|departed|checked in|checked out|discharged|hired|withdrew|signed off|signed the|under repair|out for repair|under maintenance|open|opened|closed out|wrapped up|went live|crashed|dead|lost|lapsed|ran out|is over|retired|discontinued|approved|rejected|denied|declined|turned down|\
         cancelled|canceled|closed|filled|resolved|completed|complete|done|finished|shipped|delivered|\
         arrived|returned|refunded|paid off|paid in full|signed|expired|launched|live|delayed|postponed|\
         on hold|paused|blocked|overdue|fixed|solved|sold|sold out|out of stock|back in stock|accepted|\
         granted|confirmed|published|released|deployed|merged|reopened|reinstated|suspended|activated|\
         deactivated|fell through|went through|cleared|fully booked|archived|lost|won|processed|dispatched|\
         at risk|in progress|under review|in review|in production|ready|broken|repaired|passed|failed|\
         renewed|frozen|off the table|shut down|halted|stopped|out for delivery|on its way|on the way|\
         given the green light|greenlit|put on hold|underway|backordered|on back order|decommissioned",
    ),
    (
        Sign::Back,
        "go back to|going back to|went back to|back to|revert to|reverting to|reverted to|return to|\
         returning to|switch back to|roll back to|rolled back to|restore|stick with the original|undo",
    ),
    (
        Sign::Choose,
        "we're with|went over to|buying from|going with|go with|went with|gone with|going for|went for|\
         proceed with|proceeding with|let's do|let's go with|let's use|let's try|let's proceed with|chose|\
         chosen|choose|picked|pick|settled on|settle on|decided on|decided to|opted for|opting for|\
         ended up booking|ended up with|ended up choosing|ended up going with|ended up|signing with|\
         signed with|sign with|we'll take|i'll take|we'll use|we're using|booked|rented|hired|selected|\
         select|voted|voted for|it is|in the end|finally|official|officially|the winner is|we'll be doing|\
         we'll be using|we are doing|we're doing|bought|ordered from|committed to|agreed to|agreed on|\
         agreed upon|we'll do|i'll do|i'll have",
    ),
    (
        Sign::Now,
        "now|from now on|going forward|moving forward|as of|starting|effective|effective immediately|\
         these days|from today|as of today|henceforth|nowadays|currently|at the moment|beginning|today|\
         since|no more|once and for all|new|latest|again these days|from here on|from here on out",
    ),
    (
        Sign::Direct,
        "translate|print|paint|wrap|pack|ring|send|sends|ship|deliver|mail|use|call me|call|text|reply|respond|answer|write|pay|charge|bill|\
         invoice|address|contact|email|reach|make sure|ask|deal with|talk to|speak to|put|set|schedule|book|\
         have|get|give|go|point|bring|pick me up|meet|register|list|ring|quote|save|note|log|route|forward|\
         do|make",
    ),
    (
        Sign::Correct,
        "changed their mind|changed his mind|changed her mind|changed my mind|changed our minds|changed our mind|actually|nope|nah|correction|scratch that|i meant|meant|my mistake|my bad|sorry|oops|wait|hold on|no wait|\
         i misspoke|typo|mistyped|wrong|to correct|let me correct|correcting|ignore my last|ignore that|\
         ignore my previous|ignore what|disregard|strike that|never mind|nevermind|nvm|change of plans|\
         plans changed|change of plan|on second thought|mistake|mixup|mix-up|erratum|should read|should be|\
         supposed to be|is supposed to|make that|make it|better make|better|rather|in fact|turns out|\
         apologies|misread|forget what i said|forget that|overriding that|instead|instead,|in his place|\
         in her place|in their place|heads up|fyi|update:|quick update",
    ),
    (
        Sign::Make,
        "make that|make it|make them|make the|change that to|change it to|set it to|let's make it|\
         let's make that|better make|bump it to|bump that to|put it at",
    ),
    (
        Sign::Is,
        "weighs|weigh|measures|totals|reads|pays|holds|seats|go for|goes for|going for|sells for|sell for|selling for|is paid at|are paid at|is set at|is|are|it's|they're|will be|we're|there'll be|there are|that's|gets|be|'s|runs at|runs|leaves at|\
         leaves|starts at|starts|ends at|closes at|opens at|costs|cost|arrives|due|due on|due by|\
         takes place|happens|stands at|falls on|equals|lands on|sits at|i'm|goes by|is called|needs to be|\
         has to be|must be|we are|has been|have been|became|becomes|it'll be|will be at|will be on|\
         will be in|that is|he's|she's|lives at|live at|live in|living in|reads|charges",
    ),
    (Sign::To, "under|to|onto|into|until|till|at|for|with|from|in|on|by|as|up to|down to|is|it's|be"),
    (Sign::From, "from|away from|was|were"),
    (Sign::By, "by|an extra|another"),
    (Sign::And, "and|but|so|because|since|then|although|though|while|which|who|that|cause|cuz|where|when"),
    (
        Sign::Stop,
        "a|an|the|my|our|your|this|that|these|those|it|its|i|we|you|he|she|they|them|us|me|to|of|for|in|on|\
         at|by|with|from|as|is|are|was|were|be|been|being|has|have|had|do|does|did|will|would|can|could|\
         should|shall|may|might|must|and|or|but|so|not|no|yes|ok|okay|hi|hey|hello|thanks|thank|please|pls|\
         just|very|really|all|now|then|than|there|here|up|down|out|over|off|into|onto|about|again|too|also|\
         already|yet|if|because|what|when|where|who|which|how|lol|btw|fyi|oh|guys|folks|team|everyone|it's|\
         i'm|we're|they're|that's|you're|we've|i've|they've|we'll|i'll|let's|let|don't|won't|isn't|got|get|\
         one|ones|some|any|more|less|like|per|each|dear|great|sadly|unfortunately|news|good|well|today|\
         tomorrow|yesterday|morning|night|afternoon|make|sure|go|goes|going|u|ur|im|ahead",
    ),
];
