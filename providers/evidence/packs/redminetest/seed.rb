# Fills the fresh database of one test: accounts, roles, projects, custom fields.
# Writes what the test needs to know to standard output, as JSON.
require '/usr/share/redmine/config/environment'

ActiveRecord::Migration.verbose = false
ActiveRecord::Base.connection.migration_context.migrate
# The models were loaded before there were tables.
ActiveRecord::Base.descendants.each { |c| c.reset_column_information unless c.abstract_class? }

# The mail about a new administrator would be made in a thread of its own, and
# two writers at once are one too many for SQLite.
ActiveJob::Base.queue_adapter = :inline

Setting.rest_api_enabled = '1'
Setting.notified_events = []

statuses = {}
{ 'New' => false, 'Closed' => true, 'Rejected' => true }.each do |name, closed|
  statuses[name] = IssueStatus.create!(:name => name, :is_closed => closed)
end
IssuePriority.create!(:name => 'Normal', :is_default => true)
tracker = Tracker.create!(:name => 'Order', :default_status => statuses['New'])

roles = {}
role = lambda do |name, visibility, *permissions|
  roles[name] = Role.create!(:name => name, :issues_visibility => visibility, :permissions => permissions)
end
role.call('writes', 'all', :view_issues, :add_issues, :edit_issues, :set_issues_private)
role.call('reads', 'all', :view_issues)
role.call('reads public', 'default', :view_issues) # all issues but private ones
role.call('reads own', 'own', :view_issues)
role.call('reads nothing', 'all')
statuses.values.product(statuses.values).each do |from, to|
  WorkflowTransition.create!(:role => roles['writes'], :tracker => tracker, :old_status => from, :new_status => to)
end

fields = {}
field = lambda do |name, options|
  fields[name] = IssueCustomField.create!({ :name => name, :field_format => 'string', :is_for_all => true, :trackers => [tracker] }.merge(options))
end
field.call('Landed Ref', :is_filter => true, :searchable => true)
field.call('Unfiltered Ref', :is_filter => false)
field.call('Hidden Ref', :is_filter => true, :visible => false, :roles => [roles['writes']])

projects = {}
%w[desk other archive].each do |name|
  projects[name] = Project.create!(:name => name, :identifier => name, :is_public => false, :trackers => [tracker], :enabled_module_names => ['issue_tracking'])
end

keys = {}
account = lambda do |name, role, *where|
  u = User.new(:firstname => name, :lastname => 'Test', :mail => "#{name}@example.com", :language => 'en')
  u.login = name
  u.admin = role == :admin
  u.password = u.password_confirmation = SecureRandom.hex(20)
  u.save!
  where.each { |p| Member.create!(:project => projects[p], :user_id => u.id, :roles => [roles[role]]) }
  keys[name] = u.api_key
end
account.call('boss', :admin) # there is an admin already
account.call('worker', 'writes', 'desk', 'other', 'archive')
account.call('reader', 'reads', 'desk', 'archive')
account.call('narrow', 'reads public', 'desk')
account.call('own', 'reads own', 'desk')
account.call('blind', 'reads nothing', 'desk')
account.call('stranger', 'reads')

# More than one page of issues, for a search whose filter is not applied.
author = User.find_by_login('worker')
Issue.transaction do
  110.times do |n|
    Issue.create!(:project => projects['desk'], :tracker => tracker, :author => author, :subject => "Old order #{n}",
                  :custom_field_values => { fields['Unfiltered Ref'].id.to_s => "old #{n}" })
  end
end

puts JSON.generate(
  :keys => keys, :tracker => tracker.id,
  :fields => fields.transform_values(&:id), :projects => projects.transform_values(&:id), :statuses => statuses.transform_values(&:id)
)
