# Fills a fresh RT with what the tests need and prints the accounts' tokens.
use strict;
use warnings;
use utf8;
use lib '/usr/share/request-tracker5/lib';
use JSON;
use RT;
RT::LoadConfig();
RT::Init();

sub must { my ($ok, $msg) = @_; die "$msg\n" unless $ok; return $ok }

my $root = RT->SystemUser;
my %queue;
for my $name ('Desk', 'Archive', "O'Brien & Co", 'OBrien & Co', 'Größe') {
    my $q = RT::Queue->new($root);
    must($q->Create(Name => $name));
    $queue{$name} = $q;
}
my $field = RT::CustomField->new($root);
must($field->Create(Name => 'Landed Ref', Type => 'FreeformSingle', LookupType => 'RT::Queue-RT::Ticket'));
must($field->AddToObject($queue{$_})) for grep { $_ ne 'Archive' } sort keys %queue;

my %out = (
    queues => { map { $_ => $queue{$_}->Id } keys %queue },
    field  => $field->Id,
);

# Tokens are pronounced by their account; @rights hold on each queue in $queues.
sub account {
    my ($name, $queues, @rights) = @_;
    my $user = RT::User->new($root);
    must($user->Create(Name => $name, Privileged => 1, EmailAddress => "$name\@desk.example"));
    for my $object (@$queues) {
        must($user->PrincipalObj->GrantRight(Right => $_, Object => $object)) for @rights;
    }
    my $token = RT::AuthToken->new($root);
    my ($id, $msg, $auth) = $token->Create(Owner => $user->Id, Description => 'test');
    must($id, $msg);
    $out{tokens}{$name} = $auth;
}

my @named = map { $queue{$_} } grep { $_ ne 'Archive' } sort keys %queue;
account('worker',   [@named], qw(SeeQueue ShowTicket SeeCustomField ModifyCustomField CreateTicket));
account('mute',     [@named], qw(SeeQueue ShowTicket CreateTicket));
account('reader',   [@named], qw(SeeQueue ShowTicket SeeCustomField));
account('nofield',  [@named], qw(SeeQueue ShowTicket));
account('noticket', [@named], qw(SeeQueue SeeCustomField));
account('noqueue',  [@named], qw(ShowTicket SeeCustomField));
account('norights', []);
account('everywhere', [RT->System], qw(SeeQueue ShowTicket SeeCustomField));
account('admin',      [RT->System], qw(SuperUser));

binmode STDOUT;
print encode_json(\%out);
